# PostgreSQL for the tests: where its programs are, the doubles that use them, and the server that a
# whole run shares. perdure_test(… POSTGRES) asks for these. Nothing runs without a server, so
# it has to be there.

include(postgres_programs)
if(NOT PERDURE_POSTGRES_PROGRAMS)
  message(FATAL_ERROR "The tests need PostgreSQL's server programs (initdb, postgres). scripts/setup test "
                      "installs them; or give their folder as PERDURE_POSTGRES_PROGRAMS.")
endif()

find_program(PERDURE_PGBOUNCER pgbouncer PATHS /usr/sbin DOC "PgBouncer, the pooler" REQUIRED)
mark_as_advanced(PERDURE_PGBOUNCER)

add_library(
  perdure_postgres_doubles STATIC
  doubles/pg_link.cpp doubles/pg_proxy.cpp doubles/pg_script.cpp doubles/pg_wire.cpp
  doubles/pgbouncer.cpp doubles/postgres_archive.cpp doubles/postgres_pair.cpp
  doubles/postgres_wait.cpp
  doubles/postgres_cluster.cpp doubles/postgres_note.cpp doubles/postgres_programs.cpp
  doubles/postgres_server.cpp world/socket.cpp)
perdure_compile_rules(perdure_postgres_doubles)
target_include_directories(perdure_postgres_doubles PUBLIC "${PROJECT_SOURCE_DIR}/tests")
target_compile_definitions(perdure_postgres_doubles
                           PRIVATE "PERDURE_POSTGRES_PROGRAMS=\"${PERDURE_POSTGRES_PROGRAMS}\""
                                   "PERDURE_PGBOUNCER=\"${PERDURE_PGBOUNCER}\"")
target_link_libraries(perdure_postgres_doubles PUBLIC PkgConfig::libpq perdure Threads::Threads
                                               PRIVATE fmt::fmt)

# For programs that are to die at a chosen write. They take POSTGRES too.
set(PERDURE_KILL_SWITCH doubles/kill_switch.cpp doubles/counting_vfs.cpp doubles/vfs_shim.cpp)

# The keeper of the shared server. It goes on behind ctest's back, and ends with it.
perdure_test_program(postgres_cluster SOURCES postgres/cluster_program.cpp POSTGRES)
add_test(NAME postgres_cluster COMMAND postgres_cluster --detach --watch parent)
set_tests_properties(postgres_cluster PROPERTIES FIXTURES_SETUP postgres TIMEOUT 120)

perdure_test(postgres_cluster_test SOURCES postgres/cluster_test.cpp crash/child_process.cpp POSTGRES)
perdure_test(pg_doubles_test SOURCES postgres/doubles_test.cpp postgres/pg_proxy_test.cpp POSTGRES)
perdure_test(
  postgres_upkeep_test
  SOURCES postgres/check_test.cpp postgres/retention_test.cpp contract/describe.cpp
          contract/everything.cpp contract/store_contract.cpp damage/sample.cpp
  POSTGRES
  TIMEOUT 180)
# What happens to a store when its server, its connections or its neighbours fail.
set(PERDURE_PG_LOAD crash/main.cpp crash/load.cpp postgres/load.cpp contract/describe.cpp)
perdure_test(
  pg_faults_test
  SOURCES agent/billed_agent.cpp
          postgres/billed_crash_test.cpp
          postgres/lost_replies_test.cpp
          postgres/refusals_test.cpp
          postgres/restarts_test.cpp
          postgres/terminated_test.cpp
          crash/portrait.cpp
          crash/script.cpp
          ${PERDURE_PG_LOAD}
  LABELS postgres
  TIMEOUT 600 POSTGRES)

# How it is started, reached, woken and what it costs.
perdure_test(
  pg_ways_test
  SOURCES postgres/cost_test.cpp
          postgres/migration_test.cpp
          postgres/plans_test.cpp
          postgres/pooler_test.cpp
          postgres/roles_test.cpp
          postgres/schema_names_test.cpp
          postgres/skewed_clocks_test.cpp
          postgres/starters_test.cpp
          postgres/tls_test.cpp
          postgres/wakeups_test.cpp
          postgres/workers_test.cpp
          crash/load.cpp
          crash/script.cpp
          contract/describe.cpp
  LABELS postgres
  TIMEOUT 300 POSTGRES)
