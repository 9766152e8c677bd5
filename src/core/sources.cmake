# What the core layer is made of. Names are relative to this folder.

set(PERDURE_CORE_SOURCES
    error.cpp
    guarded.cpp
    id.cpp
    json.cpp
    json_number.cpp
    json_text.cpp
    own_process.cpp
    raw_json.cpp
    sha256.cpp
    text.cpp
    time.cpp
    wording.cpp)

set(PERDURE_CORE_TESTS
    base64_test.cpp
    canonical_json_test.cpp
    error_test.cpp
    id_source_test.cpp
    id_test.cpp
    json_parser_test.cpp
    json_pointer_test.cpp
    json_test.cpp
    money_test.cpp
    raw_json_test.cpp
    sha256_test.cpp
    time_test.cpp
    version_test.cpp)
