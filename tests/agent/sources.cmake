# The agent as a whole: its loop killed anywhere, its syncs counted, what users complain of elsewhere.

set(PERDURE_TASKS agent/bought_model.cpp agent/letter.cpp agent/order.cpp agent/steps.cpp agent/task.cpp
                  tools/fifo.cpp)

perdure_test_program(world_program SOURCES agent/world_program.cpp agent/steps.cpp tools/fifo.cpp
                                           ${PERDURE_WORLD_CLIENT})
perdure_test_program(
  agent_player SOURCES agent/player_child.cpp ${PERDURE_TASKS} ${PERDURE_KILL_SWITCH}
                       ${PERDURE_WORLD_CLIENT} POSTGRES)

perdure_test(
  agent_sweep_test
  SOURCES agent/sweep_test.cpp agent/trial.cpp crash/main.cpp ${PERDURE_TASKS} ${PERDURE_WORLD}
  PROGRAMS agent_player world_program world_server
  LABELS agent
  POSTGRES
  TIMEOUT 600)

perdure_test(
  agent_processes_test
  SOURCES agent/budget_test.cpp
          agent/outliving_test.cpp
          agent/torn_wal_test.cpp
          agent/trial.cpp
          agent/two_agents_test.cpp
          ${PERDURE_TASKS}
          ${PERDURE_WORLD}
  PROGRAMS agent_player world_program world_server
  LABELS agent
  POSTGRES
  TIMEOUT 300)

perdure_test_program(agent_talker SOURCES agent/talker_child.cpp)
perdure_test(
  agent_talking_test
  SOURCES agent/planted_key_test.cpp agent/talking_test.cpp crash/child_process.cpp tools/fifo.cpp
          ${PERDURE_MODEL_SERVER}
  PROGRAMS agent_talker
  LABELS agent
  POSTGRES
  TIMEOUT 120)

perdure_test(
  agent_billed_test
  SOURCES agent/billed_agent.cpp agent/billed_kills_test.cpp
  LABELS agent
  POSTGRES
  TIMEOUT 300)

perdure_test(
  agent_turns_test
  SOURCES agent/complaints_test.cpp agent/turn_syncs_test.cpp counted/counted_store.cpp
          doubles/counting_vfs.cpp doubles/step_counter.cpp doubles/vfs_shim.cpp
  LABELS agent
  TIMEOUT 120)
