// Golden files are transcripts: a command, what it says, its exit code. Each is played against a fresh
// store of fixture.hpp and must come out the same. What JSON prints is held against its schema.
//
//   $ perdure …      in a pipe               2> a line on stderr
//   % perdure …      on a terminal of 80     [3] an exit code that is not 0
//   %60 perdure …    on a terminal of 60
//
// After a change that is meant: PERDURE_GOLDEN=write cli_test, then look at the difference.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/api/json_schema.hpp"
#include "command/help.hpp"
#include "doubles/difference.hpp"
#include "doubles/must.hpp"
#include "doubles/places.hpp"
#include "fixture.hpp"
#include "perdure/core/json.hpp"
#include "store/api/location.hpp"
#include "verbs/table.hpp"

namespace perdure::cli {
namespace {

namespace fs = std::filesystem;

const fs::path source_root = repository_root();

std::string whole(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// As a shell would: spaces part, quotes of either kind hold together.
std::vector<std::string> shell_words(const std::string& line) {
  std::vector<std::string> words;
  std::optional<std::string> word;
  char quote = '\0';
  for (const char letter : line) {
    if (quote != '\0' ? letter == quote : letter == '\'' || letter == '"') {
      quote = quote != '\0' ? '\0' : letter;
      if (!word) word.emplace();
    } else if (letter == ' ' && quote == '\0') {
      if (word) words.push_back(*std::exchange(word, std::nullopt));
    } else {
      if (!word) word.emplace();
      *word += letter;
    }
  }
  if (word) words.push_back(*word);
  return words;
}

void replace_all(std::string& text, const std::string& what, const std::string& with) {
  if (what.empty()) return;
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size())) {
    text.replace(at, what.size(), with);
  }
}

std::string prefixed(const std::string& text, std::string_view prefix) {
  std::string made;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    // A prompt ends in a blank, and no file of ours has one there.
    line.erase(line.find_last_not_of(' ') + 1);
    made += fmt::format("{}{}\n", prefix, line);
  }
  return made;
}

// A published schema lets members be added; what we print has none that it does not name.
void forbid_more(Json& schema) {
  if (auto* list = schema.as_array()) std::ranges::for_each(*list, forbid_more);
  if (auto* object = schema.as_object()) {
    for (auto& [name, value] : *object) forbid_more(value);
  }
  const bool is_open =
      schema.find("properties") != nullptr && schema.find("additionalProperties") == nullptr;
  if (is_open) schema.set("additionalProperties", false);
}

// With --fields an item has fewer members; those it has are as ever.
void need_none(Json& schema) {
  if (auto* list = schema.as_array()) std::ranges::for_each(*list, need_none);
  if (auto* object = schema.as_object()) {
    std::erase_if(*object, [](const Json::Member& member) { return member.first == "required"; });
    for (auto& [name, value] : *object) need_none(value);
  }
}

// Every JSON value that was printed keeps the schema it names.
void check_schema(const std::string& out, bool is_whole) {
  std::istringstream lines(out);
  std::string line;
  const bool is_document = parse_json(out).has_value();
  while (is_document ? line.empty() : !std::getline(lines, line).fail()) {
    const Json value = must(parse_json(is_document ? out : line));
    line = "done";
    const Json* named = value.find("schema");
    ASSERT_NE(named, nullptr) << value.text();
    const std::string name = *named->as_string();
    const fs::path path =
        source_root / "docs/reference/schemas" / (name.substr(0, name.find('/')) + ".json");
    ASSERT_TRUE(fs::exists(path)) << path;
    Json text = must(parse_json(whole(path)));
    forbid_more(text);
    if (!is_whole) need_none(text);
    const auto schema = JsonSchema::compile(text);
    ASSERT_TRUE(schema) << path << ": " << schema.error().message;
    for (const SchemaError& error : schema->check(value)) {
      ADD_FAILURE() << name << error.at << ": " << error.message << "\n" << value.text();
    }
  }
}

// What another machine, or the next commit, would say otherwise.
void hide_build(std::string& text) {
  if (!text.starts_with(R"({"schema":"perdure.version/1")")) return;
  const BuildInfo build = build_info();
  const Json commit = build.commit.empty() ? Json() : Json(build.commit);
  replace_all(text, R"("commit":)" + commit.text(), R"("commit":"{commit}")");
  replace_all(text, Json(build.compiler).text(), R"("{compiler}")");
  replace_all(text, Json(build.build_type).text(), R"("{build type}")");
  for (const BuiltBackend& backend : built_backends()) {
    if (!backend.library.empty()) replace_all(text, backend.library, "{" + backend.name + "}");
  }
}

std::string play(CliFixture& fixture, const std::string& line) {
  const auto space = line.find(' ');
  std::optional<int> columns;
  if (line.front() == '%') columns = space == 1 ? 80 : std::stoi(line.substr(1, space));
  std::vector<std::string> words = shell_words(line.substr(space));
  words.erase(words.begin());
  for (std::string& word : words) replace_all(word, "{folder}", fixture.folder.path().string());
  Said said = fixture.run(words, columns);
  const bool is_json = std::ranges::any_of(
      words, [](const std::string& word) { return word.starts_with("--json"); });
  const bool is_whole = std::ranges::find(words, "--fields") == words.end();
  if (is_json) check_schema(said.out, is_whole);
  const auto error = said.err.find(R"({"schema":"perdure.error/1")");
  // A verdict in stdout may say it all; a list that something failed in does not.
  const bool has_failed = is_json && said.exit != 0;
  EXPECT_TRUE(error != std::string::npos ? has_failed : !has_failed || !said.out.empty()) << line;
  if (error != std::string::npos) check_schema(said.err.substr(error), true);
  for (std::string* text : {&said.out, &said.err}) {
    hide_build(*text);
    const std::string location = fixture.location();
    replace_all(*text, location, "{store}");
    replace_all(*text, location.substr(location.find(':') + 1), "{store}");
    replace_all(*text, fixture.folder.path().string(), "{folder}");
    replace_all(*text, "\x1b", "\\e");
    *text = std::regex_replace(*text, std::regex("[0-9]+ MiB are free"), "{space} MiB are free");
  }
  std::string told = prefixed(said.out, "") + prefixed(said.err, "2> ");
  if (said.exit != 0) told += fmt::format("[{}]\n", said.exit);
  return told;
}

std::string replayed(const std::string& golden) {
  CliFixture fixture;
  fixture.fill();
  std::string made;
  std::istringstream lines(golden);
  for (std::string line; std::getline(lines, line);) {
    const bool is_command = line.starts_with("$ ") || line.starts_with("%");
    if (is_command)
      made += fmt::format("{}{}\n{}", made.empty() ? "" : "\n", line, play(fixture, line));
  }
  return made;
}

std::vector<std::string> golden_files() {
  std::vector<std::string> names;
  for (const auto& file : fs::directory_iterator(source_root / "src/cli/golden")) {
    names.push_back(file.path().stem().string());
  }
  std::ranges::sort(names);
  return names;
}

class GoldenTest : public testing::TestWithParam<std::string> {};

TEST_P(GoldenTest, SaysWhatItSaid) {
  const fs::path path = source_root / "src/cli/golden" / (GetParam() + ".txt");
  const std::string golden = whole(path);
  const std::string made = replayed(golden);
  if (std::getenv("PERDURE_GOLDEN") != nullptr) {
    std::ofstream(path, std::ios::binary) << made;
  } else {
    EXPECT_EQ(made, golden) << difference(golden, made);
  }
}

INSTANTIATE_TEST_SUITE_P(Every, GoldenTest, testing::ValuesIn(golden_files()),
                         [](const auto& named) { return named.param; });

TEST(GoldenFiles, ShowEveryVerbInAPipeOnATerminalAndAsJson) {
  std::string all;
  for (const std::string& name : golden_files())
    all += "\n" + whole(source_root / "src/cli/golden" / (name + ".txt"));
  for (const Command& command : commands()) {
    if (command.is_hidden) continue;
    EXPECT_TRUE(all.contains(fmt::format("\n$ perdure {}", command.name))) << command.name;
    EXPECT_TRUE(all.contains(fmt::format("\n% perdure {}", command.name))) << command.name;
    if (command.schema.empty()) continue;
    EXPECT_TRUE(all.contains(fmt::format("\n$ perdure --json {}", command.name))) << command.name;
  }
}

}  // namespace
}  // namespace perdure::cli
