# Installs the build at BUILD into an emptied PREFIX, and checks what a package must hold.

cmake_policy(SET CMP0009 NEW)  # The documents contain a link to the headers.
file(REMOVE_RECURSE "${PREFIX}")
execute_process(COMMAND "${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${PREFIX}"
                OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)

file(GLOB_RECURSE installed RELATIVE "${PREFIX}" "${PREFIX}/*")
foreach(wanted "perdure-config.cmake" "perdure.pc" "libperdure_store.a" "perdure/core/error.hpp"
               "perdure/perdure.hpp" "perdure/version.hpp"
               "share/doc/perdure/LICENSE" "share/doc/perdure/docs/guarantees.md"
               "share/doc/perdure/examples/resumed_agent.cpp" "bin/perdure" "man/man1/perdure-show.1"
               "bash-completion/completions/perdure")
  if(NOT "${installed}" MATCHES "${wanted}")
    message(FATAL_ERROR "not installed: ${wanted}")
  endif()
endforeach()
foreach(unwanted "sqlite3\\.h" "gtest" "_test")
  if("${installed}" MATCHES "${unwanted}")
    message(FATAL_ERROR "installed, but is none of a user's business: ${unwanted}")
  endif()
endforeach()
