# Providers against loopback servers that speak the vendors' formats, correctly or not.

perdure_test_program(model_server SOURCES models/server_program.cpp)

# The TLS server is only for the tests: libcurl has its own client.
find_package(OpenSSL 3.0 REQUIRED COMPONENTS SSL)
perdure_test(
  models_test
  SOURCES models/client.cpp
          models/encrypted_test.cpp
          models/failing_test.cpp
          models/foreign_reasoning_test.cpp
          models/round_trip_test.cpp
          models/streaming_test.cpp
          models/tls_front.cpp
          models/whole_test.cpp
  LABELS models)
perdure_test(endless_answers_test SOURCES models/client.cpp models/endless_test.cpp LABELS models)
target_link_libraries(models_test PRIVATE OpenSSL::SSL)

# The servers are checked with the vendors' own clients, installed by npm into the build folder.
set(clients "${CMAKE_CURRENT_LIST_DIR}/sdk/clients.py")
set(clients_folder "${PROJECT_BINARY_DIR}/tests/model_clients")
add_test(NAME models.clients_install COMMAND Python3::Interpreter "${clients}" install "${clients_folder}")
set_tests_properties(models.clients_install PROPERTIES FIXTURES_SETUP model_clients TIMEOUT 600)
add_test(NAME models.clients COMMAND Python3::Interpreter "${clients}" run "${clients_folder}"
                                     "$<TARGET_FILE:model_server>")
set_tests_properties(models.clients PROPERTIES FIXTURES_REQUIRED model_clients TIMEOUT 600)
set_tests_properties(models.clients_install models.clients PROPERTIES LABELS models)
