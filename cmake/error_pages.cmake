# Compiles the pages of docs/errors into the program, for `perdure help CODE`.
# `perdure_error_pages(RESULT)` sets RESULT to the path of the generated source.

function(perdure_error_pages result)
  file(GLOB pages CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/docs/errors/*.md")
  set(PERDURE_ERROR_PAGES "")
  foreach(page IN LISTS pages)
    get_filename_component(code "${page}" NAME_WE)
    if(code STREQUAL "README")
      continue()
    endif()
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${page}")
    file(READ "${page}" text)
    string(APPEND PERDURE_ERROR_PAGES "    ErrorPage{\"${code}\", R\"page(${text})page\"},\n")
  endforeach()
  set(source "${PROJECT_BINARY_DIR}/generated/error_pages.cpp")
  configure_file("${PROJECT_SOURCE_DIR}/cmake/error_pages.cpp.in" "${source}" @ONLY)
  set(${result} "${source}" PARENT_SCOPE)
endfunction()
