# Damaged stores: reading, detecting and salvaging them.

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
          damage/sweep_test.cpp
          damage/torn_write_back_test.cpp
          damage/zeroed_row_test.cpp
  LABELS damage
  POSTGRES)
