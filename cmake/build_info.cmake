# What a build is: as a source of the program, made anew whenever it differs. Run with -P, at every build.
#
# The commit is that of the tree the program is built of; empty where there is no repository.

execute_process(COMMAND git describe --always --dirty --abbrev=12 --exclude=*
                WORKING_DIRECTORY "${SOURCE_DIR}" OUTPUT_VARIABLE PERDURE_COMMIT
                OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
configure_file("${CMAKE_CURRENT_LIST_DIR}/build_info.cpp.in" "${OUTPUT}" @ONLY)
