# Many sessions, several processes, one world.

perdure_test_program(herd_player SOURCES herd/herd_child.cpp)
perdure_test(
  herd_test
  SOURCES herd/herd_test.cpp
  PROGRAMS herd_player world_server
  LABELS postgres
  POSTGRES)
