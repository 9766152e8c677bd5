# Agent files: one YAML that says what an agent is.

list(APPEND PERDURE_AGENT_SOURCES)

list(APPEND PERDURE_AGENT_TESTS)
