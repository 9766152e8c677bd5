# Power loss: at every sync and around every write, the disk keeps what was synced and some of the rest.

perdure_test(
  power_test
  SOURCES agent/billed_agent.cpp power/billed_turns_test.cpp power/group_cut_test.cpp
          power/power_cut_test.cpp power/recording.cpp power/sweep.cpp
  LABELS power)
