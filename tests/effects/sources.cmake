# Effects through every death: a session played against the world.

perdure_test_program(
  effects_player SOURCES effects/player_child.cpp effects/play.cpp ${PERDURE_KILL_SWITCH}
                         ${PERDURE_WORLD_CLIENT} POSTGRES)

perdure_test_program(effects_owner SOURCES effects/owner_child.cpp effects/play.cpp
                                           ${PERDURE_WORLD_CLIENT})

perdure_test(
  effects_test
  SOURCES effects/late_test.cpp effects/memory_trial.cpp effects/sweep_test.cpp effects/play.cpp
          effects/trial.cpp simulation/mortal_store.cpp crash/main.cpp ${PERDURE_WORLD}
  PROGRAMS effects_player world_server
  LABELS effects
  POSTGRES
  TIMEOUT 600)

perdure_test(
  two_owners_test
  SOURCES effects/two_owners_test.cpp effects/rivals.cpp effects/play.cpp effects/trial.cpp
          ${PERDURE_WORLD}
  PROGRAMS effects_owner effects_player world_server
  LABELS effects
  POSTGRES
  TIMEOUT 600)
