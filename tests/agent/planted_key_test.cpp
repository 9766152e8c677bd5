// A key and a secret are planted, and everything that an agent leaves anywhere is searched for them:
// its store, its output, the folder in which its programs are noted.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <initializer_list>
#include <ios>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/talks.hpp"
#include "contract/backends.hpp"
#include "core/api/text.hpp"
#include "crash/child_process.hpp"
#include "doubles/postgres_cluster.hpp"
#include "doubles/postgres_programs.hpp"
#include "doubles/temp_folder.hpp"
#include "models/model_server.hpp"
#include "perdure/core/json.hpp"

namespace perdure::agents {
namespace {

using testing::HasSubstr;

const std::string planted_key = "sk-planted-4be1f0a97c33d258";
const std::string secret = "tok-planted-91d6aa03e7f25b64";
/// What is to be found: otherwise nothing would be.
const std::string marker = "a-word-like-any-other-58213";

std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string all_below(const std::filesystem::path& folder) {
  std::string all;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) all += entry.path().string() + bytes_of(entry.path());
  }
  return all;
}

// As a dump shows bytes.
std::string in_hex(std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string hex;
  for (const char byte : text) {
    hex += digits[static_cast<unsigned char>(byte) >> 4U];
    hex += digits[static_cast<unsigned char>(byte) & 15U];
  }
  return hex;
}

bool has(const std::string& all, const std::string& word) {
  // In base64 a word is one of three texts, by where it begins; their ends depend on neighbours.
  bool is_there =
      all.find(word) != std::string::npos || all.find(in_hex(word)) != std::string::npos;
  for (const std::string before : {"", "x", "xy"}) {
    const std::string coded = to_base64(before + word);
    is_there = is_there || all.find(coded.substr(4, coded.size() - 8)) != std::string::npos;
  }
  return is_there;
}

// Whatever was said before: the model shouts.
std::string shouting_script() {
  std::string responses;
  for (int i = 0; i < 10; ++i) {
    responses += (i == 0 ? "" : ", ") +
                 std::string(R"({"calls": [{"name": "shout", "args": {"n": )") + std::to_string(i) +
                 R"(, "token": {"secret_ref": "TOKEN"}}}]})";
  }
  return R"({"responses": [)" + responses + "]}";
}

// An agent whose key and secret lie in its own root, and whose shell is passed the secret.
constexpr std::string_view curious_agent = R"(name: curious
model: {provider: openai, id: m, key: {file: sub/.key}}
roots: [{path: ., writable: true}]
secrets: {TOKEN: {file: token}}
tools: {files: {}, shell: {pass_env: [TALKER_SECRET]}}
permissions: {read: allow, write: allow}
)";

// The model looks for them, by all its tools, one after the other.
std::string curious_script() {
  const std::vector<std::pair<std::string, Json>> calls = {
      {"read_file", Json::Object{{"path", "sub/.key"}}},
      {"read_file", Json::Object{{"path", "sub/../token"}}},
      {"search_files", Json::Object{{"pattern", "planted"}}},
      {"search_files", Json::Object{{"pattern", "."}, {"path", "sub"}}},
      {"shell", Json::Object{{"command", "cat sub/.key token; cat \"$PWD\"/sub/.key; env"}}},
      {"shell", Json::Object{{"command", "mv sub elsewhere; cp token other; ls -l; base64 token"}}},
      {"shell", Json::Object{{"command", "cat */.key other; env | base64; cat given"}}},
      {"read_file", Json::Object{{"path", "elsewhere/.key"}}},
      {"read_file", Json::Object{{"path", "given"}}}};
  Json::Array responses;
  for (const auto& [name, args] : calls) {
    responses.emplace_back(
        Json::Object{{"calls", Json::Array{Json::Object{{"name", name}, {"args", args}}}}});
  }
  responses.emplace_back(Json::Object{{"text", "I found nothing."}});
  return Json(Json::Object{{"responses", responses}}).text();
}

class PlantedKey : public testing::TestWithParam<Backend> {
 protected:
  PlantedKey() { Talks::plant(planted_key, secret); }

  void run(Talks& talks, const std::string& behaviour, const std::vector<std::string>& words) {
    for (const std::string& line : talks.all_of(behaviour, words)) said += line + "\n";
  }

  /// With a WAL that is still there: whoever wrote it lives.
  [[nodiscard]] static std::string store_of(const Talks& talks) {
    if (talks.home().location().starts_with("sqlite:")) {
      const auto folder = std::filesystem::path(talks.home().file()).parent_path();
      EXPECT_GT(std::filesystem::file_size(talks.home().file() + "-wal"), 0U);
      return all_below(folder);
    }
    const TempFolder folder;
    give_to_postgres(folder.path().string());
    run_postgres_program("pg_dump",
                         {"--schema=" + talks.home().schema().name(),
                          "--file=" + folder.file("dump"), cluster().address()},
                         folder.file("log"));
    return bytes_of(folder.file("dump"));
  }

  std::string said;
};

TEST_P(PlantedKey, IsFoundInNoStoreNoOutputAndNoFile) {
  for (const std::string format : {"anthropic", "chat"}) {
    Talks talks(GetParam(), format);
    std::ofstream(talks.folder().file("key")) << planted_key << "\n";
    std::ofstream(talks.folder().file("script")) << shouting_script();
    run(talks, "status-401", {"say=" + marker, "key=environment"});
    run(talks, "status-500", {"key=file"});
    run(talks, "final", {"key=file"});
    run(talks, "error", {"say=once more", "key=environment"});
    const auto last =
        talks.start("final", {"say=shout", "holds=1", "script=" + talks.folder().file("script")});
    while (const auto line = last->read_line()) {
      said += *line + "\n";
      if (line->starts_with("ended ") || line->starts_with("failed ")) break;
    }
    const std::string store = store_of(talks);
    last->kill();
    EXPECT_TRUE(last->wait().was_killed());
    talks.home().settle();
    std::filesystem::remove(talks.folder().file("key"));
    const std::string files = all_below(talks.folder().path());

    // They went where they had to go.
    const auto requests = talks.server().requests();
    EXPECT_TRUE(std::ranges::all_of(requests, [](const models::SeenRequest& request) {
      return std::ranges::any_of(
          request.headers, [](const auto& header) { return header.second.ends_with(planted_key); });
    }));
    EXPECT_THAT(said, HasSubstr("no, not with key"));
    EXPECT_THAT(said, HasSubstr("[secret TOKEN]"));
    EXPECT_TRUE(has(store, marker));
    for (const std::string* where :
         std::initializer_list<const std::string*>{&store, &said, &files}) {
      EXPECT_FALSE(has(*where, planted_key));
      EXPECT_FALSE(has(*where, secret));
    }
  }
}

TEST_P(PlantedKey, IsNotFoundByAModelThatLooksForIt) {
  Talks talks(GetParam(), "chat");
  const std::filesystem::path root = talks.folder().path() / "root";
  std::filesystem::create_directories(root / "sub");
  std::ofstream(root / "agent.yaml") << curious_agent;
  std::ofstream(root / "sub/.key") << planted_key << "\n";
  std::ofstream(root / "token") << secret << "\n";
  std::ofstream(root / "given") << "somebody wrote it down: " << planted_key << "\n";
  std::ofstream(talks.folder().file("script")) << curious_script();
  const auto talker =
      talks.start("final", {"say=" + marker, "holds=1", "agent=" + (root / "agent.yaml").string(),
                            "script=" + talks.folder().file("script")});
  while (const auto line = talker->read_line()) {
    said += *line + "\n";
    if (line->starts_with("ended ") || line->starts_with("failed ")) break;
  }
  const std::string store = store_of(talks);
  talker->kill();
  EXPECT_TRUE(talker->wait().was_killed());
  talks.home().settle();

  EXPECT_THAT(said, HasSubstr("I found nothing."));
  EXPECT_THAT(said, HasSubstr("is not for this tool"));
  EXPECT_THAT(said, HasSubstr("TALKER_SECRET=[secret "));
  EXPECT_THAT(said, HasSubstr("somebody wrote it down: [secret model.key]"));
  EXPECT_TRUE(std::filesystem::exists(root / "sub/.key"));
  EXPECT_TRUE(has(store, marker));
  for (const std::string* where : std::initializer_list<const std::string*>{&store, &said}) {
    EXPECT_FALSE(has(*where, planted_key));
    EXPECT_FALSE(has(*where, secret));
  }
}

INSTANTIATE_TEST_SUITE_P(Surviving, PlantedKey, testing::ValuesIn(surviving_backends()),
                         [](const auto& named) { return named.param.name; });

}  // namespace
}  // namespace perdure::agents
