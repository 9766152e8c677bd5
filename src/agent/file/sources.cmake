# Agent files: one YAML that says what an agent is.

list(
  APPEND
  PERDURE_AGENT_SOURCES
  file/agent_digest.cpp
  file/agent_file.cpp
  file/agent_parts.cpp
  file/agent_paths.cpp
  file/fields.cpp
  file/model_section.cpp
  file/plain_scalar.cpp
  file/private_values.cpp
  file/rules_section.cpp
  file/schema_findings.cpp
  file/tools_section.cpp
  file/yaml_document.cpp)

list(
  APPEND
  PERDURE_AGENT_TESTS
  file/agent_digest_test.cpp
  file/agent_file_errors_test.cpp
  file/agent_file_test.cpp
  file/agent_parts_test.cpp
  file/agent_run_test.cpp
  file/plain_scalar_test.cpp)
