# Fewer and larger compile steps: PERDURE_UNITY files of a target are compiled together.
#
# CMake's own unity build names the sources by absolute paths, so a compiler cache misses in every
# clone. Here they are named from the repository's root.

set(PERDURE_UNITY 0 CACHE STRING "How many sources are compiled together; 0: each alone")

# perdure_unity(<target>): replaces the target's sources by files that include them. A generated
# source, and one with its own properties, is compiled alone.
function(perdure_unity target)
  if(NOT PERDURE_UNITY GREATER 1)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  get_target_property(folder ${target} SOURCE_DIR)
  set(alone "")
  set(together "")
  foreach(source IN LISTS sources)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY "${folder}" NORMALIZE OUTPUT_VARIABLE path)
    cmake_path(IS_PREFIX PROJECT_SOURCE_DIR "${path}" is_ours)
    cmake_path(IS_PREFIX PROJECT_BINARY_DIR "${path}" is_made)
    get_source_file_property(definitions "${source}" COMPILE_DEFINITIONS)
    if(is_ours AND NOT is_made AND NOT definitions AND path MATCHES "\\.cpp$")
      cmake_path(RELATIVE_PATH path BASE_DIRECTORY "${PROJECT_SOURCE_DIR}")
      list(APPEND together "${path}")
    else()
      list(APPEND alone "${source}")
    endif()
  endforeach()

  set(batches "")
  list(LENGTH together count)
  foreach(first RANGE 0 ${count} ${PERDURE_UNITY})
    if(first LESS count)
      list(SUBLIST together ${first} ${PERDURE_UNITY} batch)
      list(TRANSFORM batch REPLACE "(.+)" "#include \"\\1\"\n")
      list(JOIN batch "" text)
      set(file "${PROJECT_BINARY_DIR}/unity/${target}_${first}.cpp")
      file(CONFIGURE OUTPUT "${file}" CONTENT "${text}" @ONLY)
      list(APPEND batches "${file}")
    endif()
  endforeach()
  set_source_files_properties(${batches} PROPERTIES INCLUDE_DIRECTORIES "${PROJECT_SOURCE_DIR}")
  set_target_properties(${target} PROPERTIES SOURCES "${alone};${batches}")
endfunction()
