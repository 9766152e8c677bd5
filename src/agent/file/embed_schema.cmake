# Makes agent_schema.cpp out of docs/reference/agent.schema.json, so that what people's editors check a
# file by is what the program checks it by.

set(schema_file "${PROJECT_SOURCE_DIR}/docs/reference/agent.schema.json")
set(schema_source "${CMAKE_CURRENT_BINARY_DIR}/agent_schema.cpp")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${schema_file}")
file(READ "${schema_file}" schema)
file(
  CONFIGURE OUTPUT "${schema_source}"
  CONTENT
    "// Made by embed_schema.cmake. Do not edit.

#include \"agent/api/agent_file.hpp\"

namespace perdure {

std::string_view agent_schema() {
  return R\"schema(@schema@)schema\";
}

}  // namespace perdure
"
  @ONLY)
list(APPEND PERDURE_AGENT_SOURCES "${schema_source}")
