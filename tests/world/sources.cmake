# The world: a server that counts real effects, its client, and tools over it. Whoever plays a
# session against it takes PERDURE_WORLD and names world_server among its PROGRAMS; a child
# process that only calls tools needs PERDURE_WORLD_CLIENT.

set(PERDURE_WORLD_CLIENT world/client.cpp world/socket.cpp world/tools.cpp world/wire.cpp)
set(PERDURE_WORLD ${PERDURE_WORLD_CLIENT} world/world.cpp crash/child_process.cpp)

perdure_test_program(
  world_server SOURCES world/server.cpp world/network.cpp world/socket.cpp world/vendor.cpp
                       world/wire.cpp)
perdure_test_program(world_caller SOURCES world/caller.cpp ${PERDURE_WORLD})

perdure_test(
  world_test
  SOURCES world/fates_test.cpp world/survival_test.cpp world/tools_test.cpp world/world_test.cpp
          ${PERDURE_WORLD}
  PROGRAMS world_server world_caller
  LABELS world)
