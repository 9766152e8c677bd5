# Stores of every format. upgrade_maker writes the files of the current one (maker.cpp).

perdure_test_program(upgrade_maker SOURCES upgrade/maker.cpp)
perdure_test_program(upgrade_opener SOURCES upgrade/opener_child.cpp)

perdure_test(
  upgrade_test
  SOURCES upgrade/upgrade_test.cpp
  PROGRAMS upgrade_opener upgrade_maker
  LABELS upgrade)
