# Reading what is no longer what was written, finding it, and saving what is left.

perdure_test(
  damage_test
  SOURCES damage/check_test.cpp
          damage/damaged_entry_test.cpp
          damage/endless_line_test.cpp
          damage/lost_wal_test.cpp
          damage/missing_row_test.cpp
          damage/one_byte_test.cpp
          damage/pages_test.cpp
          damage/reading_test.cpp
          damage/salvage_test.cpp
          damage/salvaged_rows_test.cpp
          damage/sample.cpp
          damage/torn_write_back_test.cpp
          damage/verdict.cpp
          damage/zeroed_row_test.cpp
          contract/describe.cpp
          doubles/vfs_shim.cpp
  POSTGRES)

perdure_test(
  damage_sweep_test
  SOURCES damage/main.cpp damage/sample.cpp damage/sweep_test.cpp damage/verdict.cpp
          contract/describe.cpp
  LABELS damage
  TIMEOUT 600)
