# The death of writers: at every store write, during recovery, and at random under load.

perdure_test_program(crash_writer SOURCES crash/writer_child.cpp)
perdure_test_program(crash_loader SOURCES crash/load_child.cpp)
perdure_test_program(crash_forgetter SOURCES crash/forget_child.cpp)

perdure_test_program(crash_closer SOURCES crash/closing_child.cpp)

perdure_test(
  crash_test
  SOURCES crash/closing_test.cpp crash/forget_sweep_test.cpp crash/lost_wal_sweep_test.cpp
          crash/sweep_test.cpp crash/under_load_test.cpp
  PROGRAMS crash_writer crash_loader crash_forgetter crash_closer
  LABELS crash
  POSTGRES)
