# The tests that cross layers: the store contract for every backend, and the property tests.

perdure_test(
  store_contract_test
  SOURCES contract/store_contract.cpp
          contract/backup_test.cpp
          contract/blobs_test.cpp
          contract/branch_and_fork_test.cpp
          contract/changes_test.cpp
          contract/checks_test.cpp
          contract/collect_test.cpp
          contract/create_test.cpp
          contract/commit_test.cpp
          contract/ended_test.cpp
          contract/erase_test.cpp
          contract/hostile_bodies_test.cpp
          contract/hostile_enums_test.cpp
          contract/hostile_names_test.cpp
          contract/hostile_numbers_test.cpp
          contract/inbox_test.cpp
          contract/ledger_test.cpp
          contract/lists_test.cpp
          contract/log_test.cpp
          contract/ownership_test.cpp
          contract/prune_calls_test.cpp
          contract/prune_test.cpp
          contract/remove_test.cpp
          contract/sessions_test.cpp
          contract/survival_test.cpp
          contract/threads_test.cpp
          contract/arrival_test.cpp
          contract/departure_test.cpp
          contract/upkeep_test.cpp
  LABELS contract
  POSTGRES)

perdure_test(
  store_property_test
  SOURCES property/equal_stores_test.cpp property/history_test.cpp property/script.cpp
          property/script_batch.cpp property/script_query.cpp property/script_retention.cpp
  LABELS property
  POSTGRES)

foreach(folder postgres book copy crash counted damage docs faults holes opening power retention saver upgrade
               views world effects simulation herd failover models tools agent held thrown)
  include(${folder}/sources.cmake)
endforeach()
