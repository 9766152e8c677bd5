# Holes of the systems we looked at, by the numbers of docs/holes.md, each shown to be closed here.
# Holes of the book's chapter that the checkpointer closes are in book_test.

perdure_test(
  holes_test
  SOURCES holes/h01_unfinished_calls_test.cpp
          holes/h03_same_call_test.cpp
          holes/h11_money_test.cpp
          holes/h13_late_attempt_test.cpp
          holes/h16_resume_test.cpp
          holes/h22_one_log_test.cpp
          holes/h30_pause_test.cpp
          holes/h45_order_test.cpp
          holes/h52_determinism_test.cpp
  POSTGRES
  LABELS holes)
