# The files of layer adapters, relative to this folder.

set(PERDURE_ADAPTERS_SOURCES
    checkpointer/checkpointer.cpp
    checkpointer/held_log.cpp
    saver/conformance.cpp
    saver/store_saver.cpp
    saver/thread_log.cpp)

set(PERDURE_ADAPTERS_TESTS
    checkpointer/checkpointer_calls_test.cpp
    checkpointer/checkpointer_test.cpp
    saver/delta_test.cpp
    saver/recent_test.cpp
    saver/store_saver_test.cpp)
