# Makes postgres_scripts.cpp out of postgres/sql: each file as string literals, so that the server's
# code is edited as SQL and lives in the program. A literal may not be too long for a compiler.

set(folder "${CMAKE_CURRENT_SOURCE_DIR}/postgres/sql")
set(scripts "${CMAKE_CURRENT_BINARY_DIR}/postgres_scripts.cpp")

function(perdure_sql_literals result)
  set(text "")
  foreach(name ${ARGN})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${folder}/${name}.sql")
    file(READ "${folder}/${name}.sql" sql)
    string(APPEND text "R\"sql(${sql})sql\"\n")
  endforeach()
  set(${result} "${text}" PARENT_SCOPE)
endfunction()

perdure_sql_literals(tables format)
perdure_sql_literals(renewal renew)
perdure_sql_literals(functions ${PERDURE_POSTGRES_FUNCTIONS})
file(
  CONFIGURE OUTPUT "${scripts}"
  CONTENT
    "// Made by embed_sql.cmake. Do not edit.

#include \"postgres/upkeep/schema.hpp\"

namespace perdure::postgres {

Scripts own_scripts() {
  return {.tables = @tables@,
          .functions = @functions@,
          .renewal = @renewal@,
          .version = \"@PROJECT_VERSION@\"};
}

}  // namespace perdure::postgres
"
  @ONLY)
list(APPEND PERDURE_STORE_SOURCES "${scripts}")
