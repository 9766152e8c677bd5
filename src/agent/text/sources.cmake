# Text: patterns, distances, cuts between characters.

list(APPEND PERDURE_AGENT_SOURCES text/wording.cpp text/pattern.cpp)

list(APPEND PERDURE_AGENT_TESTS text/pattern_test.cpp)
