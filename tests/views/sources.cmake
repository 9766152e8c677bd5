# The SQL views, seen with the sqlite3 shell of the system.

perdure_test(views_test SOURCES views/views_test.cpp LABELS views)
