# Text: patterns.

list(APPEND PERDURE_AGENT_SOURCES text/pattern.cpp)

list(APPEND PERDURE_AGENT_TESTS text/pattern_test.cpp)
