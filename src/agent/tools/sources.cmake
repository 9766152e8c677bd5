# Tools: what a model may call, and the checks before a call.

list(APPEND PERDURE_AGENT_SOURCES)

list(APPEND PERDURE_AGENT_TESTS)
