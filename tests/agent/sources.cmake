# The agent as a whole: its loop killed anywhere, its syncs counted, complaints about other harnesses.

perdure_test_program(world_program SOURCES agent/world_program.cpp)
perdure_test_program(agent_player SOURCES agent/player_child.cpp)
perdure_test_program(agent_talker SOURCES agent/talker_child.cpp)

perdure_test(
  agent_sweep_test
  SOURCES agent/sweep_test.cpp agent/trial.cpp
  PROGRAMS agent_player world_program world_server
  LABELS agent
  POSTGRES)

perdure_test(
  agent_processes_test
  SOURCES agent/billed_agent.cpp
          agent/billed_kills_test.cpp
          agent/budget_test.cpp
          agent/complaints_test.cpp
          agent/outliving_test.cpp
          agent/planted_key_test.cpp
          agent/talking_test.cpp
          agent/torn_wal_test.cpp
          agent/trial.cpp
          agent/turn_syncs_test.cpp
          agent/two_agents_test.cpp
  PROGRAMS agent_player agent_talker world_program world_server
  LABELS agent
  POSTGRES)
