# PostgreSQL for the tests: the server shared by a run, and the tests of stores on it.
# perdure_test(… POSTGRES) requires the server; it must be installed.

# Runs the shared server in the background, and ends with ctest.
perdure_test_program(postgres_cluster SOURCES postgres/cluster_program.cpp)
add_test(NAME postgres_cluster COMMAND postgres_cluster --detach --watch parent)
set_tests_properties(postgres_cluster PROPERTIES FIXTURES_SETUP postgres TIMEOUT 600)

# Failures of the server, of connections, and of other clients.
perdure_test(
  pg_faults_test
  SOURCES agent/billed_agent.cpp postgres/billed_crash_test.cpp postgres/lost_replies_test.cpp
          postgres/refusals_test.cpp postgres/restarts_test.cpp postgres/terminated_test.cpp
  LABELS postgres
  POSTGRES)

# Start, connection, notification, upkeep and cost; and the doubles for them.
perdure_test(
  pg_ways_test
  SOURCES contract/store_contract.cpp
          postgres/check_test.cpp
          postgres/cluster_test.cpp
          postgres/cost_test.cpp
          postgres/doubles_test.cpp
          postgres/migration_test.cpp
          postgres/pg_proxy_test.cpp
          postgres/plans_test.cpp
          postgres/pooler_test.cpp
          postgres/retention_test.cpp
          postgres/roles_test.cpp
          postgres/schema_names_test.cpp
          postgres/skewed_clocks_test.cpp
          postgres/starters_test.cpp
          postgres/tls_test.cpp
          postgres/wakeups_test.cpp
          postgres/workers_test.cpp
  LABELS postgres
  POSTGRES)
