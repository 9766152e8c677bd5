# Who holds a session in one process: every opener against every holder, and what a fork(2) inherits.

perdure_test(
  held_test
  SOURCES held/forked_test.cpp held/pairs_test.cpp held/second_object_test.cpp
  LABELS runtime
  TIMEOUT 300
  POSTGRES)
