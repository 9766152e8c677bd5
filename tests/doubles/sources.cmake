# Shared by several test programs, compiled once: doubles, scripts, the world's client, model servers,
# and the main of the tests. A program links what it uses from the archives.

include(postgres_programs)
if(NOT PERDURE_POSTGRES_PROGRAMS)
  message(FATAL_ERROR "The tests need PostgreSQL's server programs (initdb, postgres). scripts/setup test "
                      "installs them; or give their folder as PERDURE_POSTGRES_PROGRAMS.")
endif()
find_program(PERDURE_PGBOUNCER pgbouncer PATHS /usr/sbin DOC "PgBouncer, the pooler" REQUIRED)
mark_as_advanced(PERDURE_PGBOUNCER)
set(program "")
if(PERDURE_BUILD_CLI)
  set(program "$<TARGET_FILE:perdure_program>")
endif()
# Compiled alone, because they contain paths of the machine.
set_source_files_properties(
  doubles/places.cpp PROPERTIES COMPILE_DEFINITIONS
                     "PERDURE_SOURCE_ROOT=\"${PROJECT_SOURCE_DIR}\";PERDURE_PROGRAM=\"${program}\"")
set_source_files_properties(
  doubles/postgres_programs.cpp
  PROPERTIES COMPILE_DEFINITIONS "PERDURE_POSTGRES_PROGRAMS=\"${PERDURE_POSTGRES_PROGRAMS}\"")
set_source_files_properties(
  doubles/pgbouncer.cpp PROPERTIES COMPILE_DEFINITIONS "PERDURE_PGBOUNCER=\"${PERDURE_PGBOUNCER}\"")

add_library(
  perdure_test_parts STATIC
  agent/bought_model.cpp agent/letter.cpp agent/order.cpp agent/steps.cpp agent/task.cpp
  contract/describe.cpp contract/everything.cpp copy/household.cpp counted/counted_store.cpp
  crash/child_process.cpp crash/crash_check.cpp crash/forgetting.cpp crash/load.cpp
  crash/portrait.cpp crash/script.cpp crash/stored_file.cpp damage/sample.cpp damage/verdict.cpp
  doubles/committer.cpp doubles/counting_vfs.cpp doubles/fault_vfs.cpp doubles/kill_switch.cpp
  doubles/pg_link.cpp doubles/pg_proxy.cpp doubles/pg_script.cpp doubles/pg_wire.cpp
  doubles/pgbouncer.cpp doubles/places.cpp doubles/postgres_archive.cpp doubles/postgres_cluster.cpp
  doubles/postgres_note.cpp doubles/postgres_pair.cpp doubles/postgres_programs.cpp
  doubles/postgres_server.cpp doubles/postgres_wait.cpp doubles/power_disk.cpp
  doubles/power_vfs.cpp doubles/step_counter.cpp doubles/vfs_shim.cpp effects/play.cpp
  effects/trial.cpp faults/fault_run.cpp herd/herd.cpp models/behaviour.cpp
  models/model_server.cpp models/request_check.cpp models/streams.cpp postgres/load.cpp
  property/history_model.cpp property/seeds.cpp simulation/mortal_store.cpp tools/fifo.cpp
  upgrade/tale.cpp world/client.cpp world/socket.cpp world/tools.cpp world/wire.cpp
  world/world.cpp)
perdure_test_rules(perdure_test_parts)

add_library(perdure_test_main STATIC crash/main.cpp)
perdure_test_rules(perdure_test_main)
target_link_libraries(perdure_test_main PUBLIC GTest::gtest)
