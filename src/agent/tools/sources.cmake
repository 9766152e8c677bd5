# Tools: what a model may call, and the checks before a call.

list(
  APPEND
  PERDURE_AGENT_SOURCES
  tools/check/checks.cpp
  tools/program_tools.cpp
  tools/files/file_tools.cpp
  tools/process/program.cpp
  tools/schema/compiler.cpp
  tools/schema/json_schema.cpp
  tools/secrets.cpp
  tools/session/session_tools.cpp)

list(
  APPEND
  PERDURE_AGENT_TESTS
  tools/check/permissions_test.cpp
  tools/files/file_tools_test.cpp
  tools/process/output_test.cpp
  tools/schema/json_schema_test.cpp
  tools/schema/value_test.cpp
  tools/secrets_test.cpp
  tools/session/session_tools_test.cpp)
