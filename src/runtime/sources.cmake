# The files of layer runtime, relative to this folder.

set(PERDURE_RUNTIME_SOURCES
    values/fields.cpp
    values/message.cpp)

set(PERDURE_RUNTIME_TESTS
    values/message_test.cpp)
