# What documents show is what the repository holds.

add_test(NAME readme COMMAND Python3::Interpreter "${CMAKE_CURRENT_LIST_DIR}/readme_test.py")
set_tests_properties(readme PROPERTIES LABELS docs TIMEOUT 60)
