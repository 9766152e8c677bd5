# The death of writers: at every store write, during recovery, and at random under load.

perdure_test_program(
  crash_writer SOURCES crash/writer_child.cpp crash/script.cpp contract/describe.cpp
                       ${PERDURE_KILL_SWITCH} POSTGRES)
perdure_test_program(crash_loader SOURCES crash/load_child.cpp crash/load.cpp contract/describe.cpp)
perdure_test_program(
  crash_forgetter SOURCES crash/forget_child.cpp crash/forgetting.cpp contract/describe.cpp
                          property/history_model.cpp ${PERDURE_KILL_SWITCH} POSTGRES)

perdure_test_program(crash_closer SOURCES crash/closing_child.cpp)

perdure_test(
  crash_test
  SOURCES crash/main.cpp
          crash/child_process.cpp
          crash/closing_test.cpp
          crash/crash_check.cpp
          crash/forget_sweep_test.cpp
          crash/forgetting.cpp
          crash/load.cpp
          crash/lost_wal_sweep_test.cpp
          crash/portrait.cpp
          crash/script.cpp
          crash/stored_file.cpp
          crash/sweep_test.cpp
          crash/under_load_test.cpp
          contract/describe.cpp
          doubles/counting_vfs.cpp
          doubles/vfs_shim.cpp
          property/history_model.cpp
  PROGRAMS crash_writer crash_loader crash_forgetter crash_closer
  LABELS crash
  POSTGRES
  TIMEOUT 600)
