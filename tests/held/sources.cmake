# Ownership of sessions: every opener against every holder, including the program, and objects inherited
# by fork(2).

if(PERDURE_BUILD_CLI)
  perdure_test(
    held_test
    SOURCES held/forked_test.cpp held/pairs_test.cpp held/second_object_test.cpp
    PROGRAMS perdure_program
    LABELS runtime
    POSTGRES)
endif()
