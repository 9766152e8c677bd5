# Files that are not a store of this build.

perdure_test(opening_test SOURCES opening/damaged_format_test.cpp opening/foreign_file_test.cpp
                                  opening/newer_build_test.cpp opening/rights_test.cpp)
