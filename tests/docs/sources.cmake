# What documents show is what the repository holds.

add_test(NAME documents COMMAND Python3::Interpreter "${CMAKE_CURRENT_LIST_DIR}/documents_test.py")
set_tests_properties(documents PROPERTIES LABELS docs TIMEOUT 60)
