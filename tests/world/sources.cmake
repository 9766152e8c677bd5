# The world: a server that counts real effects. A test that uses it lists world_server in PROGRAMS.

perdure_test_program(world_server SOURCES world/server.cpp world/network.cpp world/vendor.cpp)
perdure_test_program(world_caller SOURCES world/caller.cpp)

perdure_test(
  world_test
  SOURCES world/fates_test.cpp world/survival_test.cpp world/tools_test.cpp world/world_test.cpp
  PROGRAMS world_server world_caller
  LABELS world)
