# The checkpointer of the book's chapter 21: its exercises with killed processes, its syncs, and
# the holes of the chapter's design.

perdure_test_program(book_agent SOURCES book/agent.cpp)

perdure_test(
  book_test
  SOURCES book/checkpointer_runtime_test.cpp book/exercises_test.cpp book/syncs_test.cpp
          book/unsure_commit_test.cpp
          holes/book_holes_test.cpp
  PROGRAMS book_agent
  POSTGRES
  LABELS book)
