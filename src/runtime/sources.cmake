# The files of layer runtime, relative to this folder.

set(PERDURE_RUNTIME_SOURCES
    state/answers.cpp
    state/difference.cpp
    state/history.cpp
    state/state.cpp
    values/approval.cpp
    values/budget.cpp
    values/budget_json.cpp
    values/call_records.cpp
    values/counters.cpp
    values/fields.cpp
    values/message.cpp
    values/origin.cpp
    values/plan.cpp
    values/plan_json.cpp
    values/scratchpad.cpp
    values/setup.cpp)

set(PERDURE_RUNTIME_TESTS
    state/difference_test.cpp
    state/history_test.cpp
    state/history_property_test.cpp
    state/state_test.cpp
    state/state_property_test.cpp
    values/approval_test.cpp
    values/budget_test.cpp
    values/call_records_test.cpp
    values/counters_test.cpp
    values/fields_test.cpp
    values/message_test.cpp
    values/origin_test.cpp
    values/plan_test.cpp
    values/scratchpad_test.cpp
    values/setup_test.cpp)
