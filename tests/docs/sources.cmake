# Checks that the documents match the repository.

add_test(NAME documents COMMAND Python3::Interpreter "${CMAKE_CURRENT_LIST_DIR}/documents_test.py")
set_tests_properties(documents PROPERTIES LABELS docs TIMEOUT 600)
add_test(NAME holes COMMAND Python3::Interpreter "${CMAKE_CURRENT_LIST_DIR}/holes_test.py")
set_tests_properties(holes PROPERTIES LABELS docs TIMEOUT 600)
add_test(NAME store_format COMMAND Python3::Interpreter "${CMAKE_CURRENT_LIST_DIR}/store_format_test.py")
set_tests_properties(store_format PROPERTIES LABELS docs TIMEOUT 600)
add_test(NAME cpp_reference COMMAND Python3::Interpreter "${CMAKE_CURRENT_LIST_DIR}/cpp_reference_test.py")
set_tests_properties(cpp_reference PROPERTIES LABELS docs TIMEOUT 600)
add_test(NAME packaged_documents
         COMMAND Python3::Interpreter "${CMAKE_CURRENT_LIST_DIR}/packaged_documents_test.py")
set_tests_properties(packaged_documents PROPERTIES LABELS docs TIMEOUT 600)
