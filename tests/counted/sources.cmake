# Counted, not timed: syncs, pages, bytes and rows.

perdure_test(
  counted_test
  SOURCES counted/counted_store.cpp counted/growth_test.cpp counted/history_test.cpp counted/syncs_test.cpp
          doubles/committer.cpp doubles/counting_vfs.cpp doubles/step_counter.cpp doubles/vfs_shim.cpp
  LABELS counted
  TIMEOUT 120)

perdure_test(
  counted_turns_test
  SOURCES counted/counted_store.cpp counted/counted_turns.cpp counted/session_cost_test.cpp
          counted/turn_syncs_test.cpp doubles/counting_vfs.cpp doubles/step_counter.cpp doubles/vfs_shim.cpp
  LABELS counted
  TIMEOUT 240)
