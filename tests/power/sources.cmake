# The loss of power: at every sync and around every write, the disk keeps what was synced and
# some of the rest.

perdure_test(
  power_test
  SOURCES crash/main.cpp
          crash/crash_check.cpp
          crash/portrait.cpp
          crash/script.cpp
          crash/stored_file.cpp
          agent/billed_agent.cpp
          power/billed_turns_test.cpp
          power/group_cut_test.cpp
          power/power_cut_test.cpp
          power/recording.cpp
          power/sweep.cpp
          contract/describe.cpp
          doubles/committer.cpp
          doubles/counting_vfs.cpp
          doubles/power_disk.cpp
          doubles/power_vfs.cpp
          doubles/vfs_shim.cpp
  LABELS power
  TIMEOUT 300)
