# Who holds a session: every opener against every holder, the program among them, and what a fork(2)
# inherits.

if(PERDURE_BUILD_CLI)
  perdure_test(
    held_test
    SOURCES held/forked_test.cpp held/pairs_test.cpp held/second_object_test.cpp
    PROGRAMS perdure_program
    LABELS runtime
    POSTGRES)
endif()
