# Who holds a session: every opener against every holder, the program among them, and what a fork(2)
# inherits.

set(programs "")
if(PERDURE_BUILD_CLI)
  set(programs PROGRAMS perdure_program)
endif()
perdure_test(
  held_test
  SOURCES held/forked_test.cpp held/pairs_test.cpp held/second_object_test.cpp
  LABELS runtime
  TIMEOUT 300
  ${programs}
  POSTGRES)
if(PERDURE_BUILD_CLI)
  target_compile_definitions(held_test PRIVATE "PERDURE_PROGRAM=\"$<TARGET_FILE:perdure_program>\"")
endif()
