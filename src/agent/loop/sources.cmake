# The loop: input, model, calls, results, until the agent rests.

list(APPEND PERDURE_AGENT_SOURCES)

list(APPEND PERDURE_AGENT_TESTS)
