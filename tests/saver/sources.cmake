# Checkpoint savers: the conformance suite on ours and on faulty ones, and killed processes.

perdure_test_program(saver_putter SOURCES saver/putter.cpp)

perdure_test(
  saver_test
  SOURCES saver/conformance_test.cpp saver/processes_test.cpp saver/syncs_test.cpp
  PROGRAMS saver_putter
  LABELS saver
  POSTGRES)
