# Generates a source of the program that describes the build, if it changed. Run with -P, at every build.
#
# The commit is that of the built tree; empty without a repository.

execute_process(COMMAND git describe --always --dirty --abbrev=12 --exclude=*
                WORKING_DIRECTORY "${SOURCE_DIR}" OUTPUT_VARIABLE PERDURE_COMMIT
                OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
configure_file("${CMAKE_CURRENT_LIST_DIR}/build_info.cpp.in" "${OUTPUT}" @ONLY)
