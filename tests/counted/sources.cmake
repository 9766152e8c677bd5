# Counted, not timed: syncs, pages, bytes and rows.

perdure_test(
  counted_test
  SOURCES counted/counted_turns.cpp counted/growth_test.cpp counted/history_test.cpp
          counted/session_cost_test.cpp counted/syncs_test.cpp counted/turn_syncs_test.cpp
  LABELS counted)
