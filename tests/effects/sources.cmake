# Effects through every death: a session played against the world.

perdure_test_program(effects_player SOURCES effects/player_child.cpp)

perdure_test_program(effects_owner SOURCES effects/owner_child.cpp)

perdure_test(
  effects_test
  SOURCES effects/late_test.cpp effects/memory_trial.cpp effects/rivals.cpp effects/sweep_test.cpp
          effects/two_owners_test.cpp
  PROGRAMS effects_owner effects_player world_server
  LABELS effects
  POSTGRES)
