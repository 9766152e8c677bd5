# The files of layer cli, relative to this folder.

set(PERDURE_CLI_SOURCES
    cli.cpp
    command/completion.cpp
    command/help.cpp
    command/pages.cpp
    command/parse.cpp
    command/table.cpp
    desk.cpp
    exit.cpp
    place/filter.cpp
    place/reference.cpp
    place/settings.cpp
    screen/output.cpp
    screen/progress_bar.cpp
    screen/screen.cpp
    screen/table.cpp
    screen/text.cpp
    screen/words.cpp
    verbs/as_json.cpp
    verbs/program.cpp
    verbs/sessions.cpp
    verbs/show.cpp
    verbs/values.cpp)

set(PERDURE_CLI_TESTS
    command/parse_test.cpp
    fixture.cpp
    golden_test.cpp
    place/reference_test.cpp
    place/settings_test.cpp
    process_test.cpp
    screen/text_test.cpp)
