# Many sessions, several processes, one world.

perdure_test_program(herd_player SOURCES herd/herd_child.cpp effects/play.cpp ${PERDURE_WORLD_CLIENT})
set(PERDURE_HERD herd/herd.cpp effects/play.cpp ${PERDURE_WORLD})

perdure_test(
  herd_test
  SOURCES herd/herd_test.cpp crash/main.cpp ${PERDURE_HERD}
  PROGRAMS herd_player world_server
  LABELS postgres
  TIMEOUT 600 POSTGRES)
