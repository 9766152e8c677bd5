# Faults of the environment: each file call fails, memory and descriptors run out, files vanish or
# cannot be written.

perdure_test(
  faults_test
  SOURCES faults/descriptors_test.cpp
          faults/dropped_pages_test.cpp
          faults/failed_sync_test.cpp
          faults/faulty_store.cpp
          faults/fork_faults_test.cpp
          faults/full_disk_test.cpp
          faults/io_faults_test.cpp
          faults/permissions_test.cpp
          faults/stopped_test.cpp
          faults/upkeep_faults_test.cpp
          faults/vanished_test.cpp
  LABELS faults)

perdure_test(memory_test SOURCES faults/memory_test.cpp LABELS faults)
