# Reading what is no longer what was written.

perdure_test(damage_test SOURCES damage/damaged_entry_test.cpp damage/endless_line_test.cpp
                                 damage/missing_row_test.cpp)
