# Uses ccache and mold if the machine has them. Only for a build of Perdure itself, not for a project
# that includes it.

find_program(PERDURE_CCACHE ccache)
mark_as_advanced(PERDURE_CCACHE)
if(PERDURE_CCACHE)
  foreach(language C CXX)
    if(NOT DEFINED CMAKE_${language}_COMPILER_LAUNCHER)
      # Paths relative to the repository let all clones share the cache.
      set(CMAKE_${language}_COMPILER_LAUNCHER
          "${CMAKE_COMMAND}" -E env "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=1
          "${PERDURE_CCACHE}")
    endif()
  endforeach()
endif()

find_program(PERDURE_MOLD mold)
mark_as_advanced(PERDURE_MOLD)
if(PERDURE_MOLD)
  add_link_options(-fuse-ld=mold)
endif()
