# The loop: input, model, calls, results, until the agent rests.

list(
  APPEND
  PERDURE_AGENT_SOURCES
  loop/agent.cpp
  loop/call_check.cpp
  loop/conversation.cpp
  loop/history.cpp
  loop/turn.cpp)

list(APPEND PERDURE_AGENT_TESTS loop/call_check_test.cpp loop/changed_agent_test.cpp loop/conversation_test.cpp loop/loop_ends_test.cpp
     loop/loop_money_test.cpp loop/loop_notes_test.cpp loop/loop_progress_test.cpp loop/loop_refusals_test.cpp loop/loop_stopped_test.cpp loop/loop_test.cpp)
