# Faults of the world around the store: each call to the files fails, memory and descriptors
# run out, files vanish or may not be written.

perdure_test(
  faults_test
  SOURCES crash/main.cpp
          crash/crash_check.cpp
          crash/forgetting.cpp
          crash/portrait.cpp
          crash/script.cpp
          crash/stored_file.cpp
          faults/descriptors_test.cpp
          faults/dropped_pages_test.cpp
          faults/failed_sync_test.cpp
          faults/fault_run.cpp
          faults/faulty_store.cpp
          faults/fork_faults_test.cpp
          faults/full_disk_test.cpp
          faults/io_faults_test.cpp
          faults/permissions_test.cpp
          faults/stopped_test.cpp
          faults/upkeep_faults_test.cpp
          faults/vanished_test.cpp
          contract/describe.cpp
          property/history_model.cpp
          doubles/committer.cpp
          doubles/counting_vfs.cpp
          doubles/fault_vfs.cpp
          doubles/vfs_shim.cpp
  LABELS faults
  TIMEOUT 300)

perdure_test(
  memory_test
  SOURCES crash/main.cpp
          crash/crash_check.cpp
          crash/portrait.cpp
          crash/script.cpp
          crash/stored_file.cpp
          faults/fault_run.cpp
          faults/memory_test.cpp
          contract/describe.cpp
          doubles/counting_vfs.cpp
          doubles/vfs_shim.cpp
  LABELS faults
  TIMEOUT 300)
