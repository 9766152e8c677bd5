# Agent files: one YAML that says what an agent is.

list(
  APPEND
  PERDURE_AGENT_SOURCES
  file/agent_file.cpp
  file/agent_factory.cpp
  file/yaml_document.cpp)

list(
  APPEND
  PERDURE_AGENT_TESTS
  file/agent_digest_test.cpp
  file/agent_file_errors_test.cpp
  file/agent_file_test.cpp
  file/agent_factory_test.cpp
  file/agent_run_test.cpp
  file/plain_scalar_test.cpp)
