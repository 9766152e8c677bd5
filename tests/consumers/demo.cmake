# Runs the demonstration of the program that is installed at PREFIX, in FOLDER; it must end
# with one refund.

file(REMOVE_RECURSE "${FOLDER}")
execute_process(COMMAND "${PREFIX}/bin/perdure" demo "${FOLDER}" OUTPUT_VARIABLE said
                ERROR_VARIABLE said RESULT_VARIABLE code)
if(NOT code EQUAL 0 OR NOT said MATCHES "1 refund, 1 letter, 2 kills")
  message(FATAL_ERROR "the installed demonstration ended with ${code}:\n${said}")
endif()
