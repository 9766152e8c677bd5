// An agent as a file: one YAML that says which model, which prompt, what it may use and do.
//
// docs/reference/agent-file.md has every key; docs/reference/agent.schema.json is what a file is
// checked by. Nothing is guessed: unknown and doubled keys are refused, and so is a word that
// readers of YAML take for different things (`no`, `010`, `1e3`). Anchors, aliases and tags are not
// read.
//
// What is read is plain data. Paths in it are as they were written; relative ones are relative to
// `folder`. What makes an agent of it is in agent_factory.hpp.

#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "perdure/agent/agent.hpp"
#include "perdure/agent/permissions.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/agent/providers.hpp"
#include "perdure/agent/secrets.hpp"
#include "perdure/agent/tools.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/raw_json.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/policy.hpp"

namespace perdure {

enum class ProviderKind : std::uint8_t { anthropic, openai, scripted };

struct ModelSpec {
  ProviderKind provider = ProviderKind::anthropic;
  std::string id{};
  std::string base_url{};  ///< Empty: the vendor's.
  RawJson parameters = RawJson::from_value(Json::Object{});
  std::string key_variable{};  ///< Of the environment; or
  std::string key_file{};      ///< a file. Neither: no key is sent.
  std::string ca_file{};
  HttpTimeouts timeouts{};
  Duration retry_for = RetryOptions{}.total;
  std::size_t response_bytes_max = HttpProviderOptions{}.response_bytes_max;
  std::vector<std::pair<std::string, std::string>> headers{};
  std::int64_t tokens_out_max = HttpProviderOptions{}.tokens_out_max;
  bool cache_hints = AnthropicOptions{}.cache_hints;
  std::string version = AnthropicOptions{}.version;
  bool sends_reasoning = ChatOptions{}.sends_reasoning;
  std::string system_role = ChatOptions{}.system_role;
  std::string cap_parameter{};  ///< As ChatOptions'.
  std::string script{};         ///< Its text, for `scripted`.
};

/// A tool that is a program. The program that builds it sets its state folder.
struct AgentProgram {
  ExecSpec exec{};
  std::vector<std::string> pass_env{};  ///< Variables of our environment that it gets.
};

struct AgentShell {
  ShellSpec shell{};
  std::vector<std::string> pass_env{};
};

struct AgentTools {
  std::optional<FileToolsSpec> files{};  ///< Over the agent's roots, as is the shell.
  std::optional<AgentShell> shell{};
  bool plan = false;
  bool notes = false;
  bool ask_user = false;
  std::vector<AgentProgram> programs{};  ///< By name.
};

struct AgentFile {
  std::string name{};
  std::string folder{};  ///< Of the file, a whole path.
  /// Whole paths of all that was read: the file, its prompt, its script.
  std::vector<std::string> sources{};
  ModelSpec model{};
  std::string system_prompt{};
  std::vector<FileRoot> roots{};
  std::string scratchpad_folder{};  ///< Where notes are also files; empty: nowhere.
  AgentTools tools{};
  std::vector<SecretSpec> secrets{};
  Permissions permissions{};
  std::optional<std::int64_t> budget_micros{};
  Limits limits{};
  Cadence cadence{};
  OnDoubt on_doubt = OnDoubt::ask;
  OnChange on_change = OnChange::ask;
  std::vector<std::pair<std::string, Price>> prices{};
};

/// A file, and all that it refers to, may have so many bytes.
inline constexpr std::size_t agent_file_bytes_max = std::size_t{1} << 20U;

/// The content of a file. Fails: as the reader does. Throwing is an error of the agent's file.
using FileReader = std::function<Result<std::string>(const std::filesystem::path& path)>;

/// Reads `text` as the file at `path`; what it refers to (a prompt, a script) comes from `read`.
/// Pure but for that.
/// Fails: `invalid_argument`. The message has a line for everything that is wrong, as
/// `path:line:column: what; what to write instead`, first things first.
[[nodiscard]] Result<AgentFile> parse_agent(std::string_view text,
                                            const std::filesystem::path& path,
                                            const FileReader& read);

/// Fails: as parse_agent; `not_found` or `unavailable` if the file itself cannot be read.
[[nodiscard]] Result<AgentFile> read_agent_file(const std::filesystem::path& path);

}  // namespace perdure
