# Every public header compiles alone: one generated file includes it, and nothing else, twice.
# The one place that globs: a header forgotten in a list would be a header unchecked.

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
  # The include folder alone: a public header may not lean on what our libraries link.
  target_include_directories(perdure_header_check PRIVATE "${PROJECT_SOURCE_DIR}/include")
endif()
