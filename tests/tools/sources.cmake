# Tools with external parts: a JSON Schema validator from npm, real programs, a real sandbox.

perdure_test_program(schema_verdicts SOURCES tools/schema/verdicts.cpp)

# ajv, as pinned by its lock file, in the build folder.
set(oracle_folder "${PROJECT_BINARY_DIR}/tests/ajv")
add_test(
  NAME schema_oracle_packages
  COMMAND
    sh -c
    "mkdir -p '${oracle_folder}' && cd '${oracle_folder}' && cp '${CMAKE_CURRENT_LIST_DIR}/schema/package.json' '${CMAKE_CURRENT_LIST_DIR}/schema/package-lock.json' . && { test -d node_modules/ajv && cmp -s package-lock.json installed.json || { npm ci --ignore-scripts --no-audit --no-fund && cp package-lock.json installed.json; }; }"
)
set_tests_properties(schema_oracle_packages PROPERTIES FIXTURES_SETUP ajv LABELS tools TIMEOUT 600)
add_test(NAME schema_oracle
         COMMAND Python3::Interpreter "${CMAKE_CURRENT_LIST_DIR}/schema/oracle_test.py"
                 $<TARGET_FILE:schema_verdicts> "${oracle_folder}")
set_tests_properties(schema_oracle PROPERTIES FIXTURES_REQUIRED ajv LABELS tools TIMEOUT 600)

perdure_test_program(exec_session SOURCES tools/exec_session.cpp)
perdure_test_program(paying_session SOURCES tools/paying_session.cpp)
perdure_test(
  tools_test
  SOURCES tools/exec_test.cpp tools/later_attempt_test.cpp tools/leftovers_test.cpp
          tools/outliving_test.cpp tools/planted_secret_test.cpp tools/shell_test.cpp
  LABELS tools
  PROGRAMS exec_session paying_session)
