# Every public header compiles alone: one generated file includes it, and nothing else, twice.
# The only place that globs: a header missing in a list would not be checked.

file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}/include"
     "${PROJECT_SOURCE_DIR}/include/perdure/*.hpp")
set(checks "")
foreach(header ${headers})
  string(REPLACE "/" "_" name "${header}")
  set(check "${PROJECT_BINARY_DIR}/header_check/${name}.cpp")
  file(CONFIGURE OUTPUT "${check}" CONTENT "#include <${header}>\n#include <${header}>\n")
  list(APPEND checks "${check}")
endforeach()

if(checks)
  # `make lint` builds it.
  add_library(perdure_header_check OBJECT EXCLUDE_FROM_ALL ${checks})
  perdure_compile_rules(perdure_header_check)
  # The include folder only: a public header may not depend on our libraries' dependencies.
  target_include_directories(perdure_header_check PRIVATE "${PROJECT_SOURCE_DIR}/include")
endif()
