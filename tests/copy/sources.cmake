# Moves of sessions between stores: every route, every death, in the middle of a turn.

perdure_test_program(copy_copier SOURCES copy/copier_child.cpp)

perdure_test_program(copy_importer SOURCES copy/importer_child.cpp)

perdure_test(
  copy_test
  SOURCES copy/copy_sweep_test.cpp copy/copy_test.cpp copy/damaged_copy_test.cpp
          copy/moved_session_test.cpp
  PROGRAMS copy_copier
  LABELS copy
  POSTGRES)

perdure_test(
  bundle_test
  SOURCES copy/bundle_test.cpp copy/contradicting_bundle_test.cpp copy/contradicting_calls_test.cpp
          copy/damaged_bundle_test.cpp copy/disturbed_bundle_test.cpp copy/import_sweep_test.cpp
  PROGRAMS copy_importer
  LABELS copy
  POSTGRES)
