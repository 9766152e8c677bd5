# The SQL views, in the system's sqlite3 shell and in PostgreSQL.

perdure_test(views_test SOURCES views/postgres_views_test.cpp views/views_test.cpp LABELS views POSTGRES)
