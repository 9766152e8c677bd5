# Stores of every format. upgrade_maker writes the files of the present one (maker.cpp).

perdure_test_program(upgrade_maker SOURCES upgrade/maker.cpp upgrade/tale.cpp contract/describe.cpp)
perdure_test_program(upgrade_opener SOURCES upgrade/opener_child.cpp doubles/counting_vfs.cpp
                                            doubles/vfs_shim.cpp)

perdure_test(
  upgrade_test
  SOURCES upgrade/upgrade_test.cpp
          upgrade/tale.cpp
          contract/describe.cpp
          crash/child_process.cpp
          crash/stored_file.cpp
          doubles/counting_vfs.cpp
          doubles/vfs_shim.cpp
  PROGRAMS upgrade_opener upgrade_maker
  LABELS upgrade)
set_source_files_properties(
  upgrade/upgrade_test.cpp
  PROPERTIES COMPILE_DEFINITIONS "PERDURE_PAST_STORES=\"${CMAKE_CURRENT_LIST_DIR}\"")
