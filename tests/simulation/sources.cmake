# The seeded simulation: sessions, processes, people and a world in one thread.

perdure_test(
  simulation_test
  SOURCES simulation/events.cpp
          simulation/judge.cpp
          simulation/kinds.cpp
          simulation/life.cpp
          simulation/model.cpp
          simulation/simulation_test.cpp
          simulation/tools.cpp
          simulation/turns.cpp
          simulation/world.cpp
  LABELS simulation
  POSTGRES)
