# The SQL views, seen with the sqlite3 shell of the system, and with PostgreSQL.

perdure_test(views_test SOURCES views/postgres_views_test.cpp views/views_test.cpp LABELS views POSTGRES)
