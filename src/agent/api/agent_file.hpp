// An agent file, read: plain data, with paths as they were written, relative to `folder`. Users get
// the agent made of it (perdure/agent/agent_file.hpp).

#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "perdure/agent/agent.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/agent/tools.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/tool.hpp"

namespace perdure {

enum class ProviderKind : std::uint8_t { anthropic, openai, scripted };

struct ModelSpec {
  ProviderKind provider = ProviderKind::anthropic;
  std::string id{};
  RawJson parameters = RawJson::from_value(Json::Object{});
  HttpProviderOptions http{};  ///< Without a key.
  std::string key_variable{};  ///< Of the environment; or
  std::string key_file{};      ///< a file. Neither: no key is sent.
  bool cache_hints = AnthropicOptions{}.cache_hints;
  std::string version = AnthropicOptions{}.version;
  bool sends_reasoning = ChatOptions{}.sends_reasoning;
  std::string system_role = ChatOptions{}.system_role;
  std::string cap_parameter{};
  std::string script{};  ///< Its text, for `scripted`.
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
  std::string folder{};                ///< Of the file, a whole path.
  std::vector<std::string> sources{};  ///< Whole paths of the file, its prompt, its script.
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
/// Fails: `invalid_argument`. The message has a line for everything that is wrong, as
/// `path:line:column: what; what to write instead`, first things first.
[[nodiscard]] Result<AgentFile> parse_agent(std::string_view text,
                                            const std::filesystem::path& path,
                                            const FileReader& read);

/// Fails: as parse_agent; `not_found` or `unavailable` if the file itself cannot be read.
[[nodiscard]] Result<AgentFile> read_agent_file(const std::filesystem::path& path);

/// One of the texts that an agent is made of: its file, a prompt, a script. Of a file that is too
/// large, one byte more than agent_file_bytes_max.
/// Fails: `not_found`; `unavailable`, with the reason, for what is not a readable regular file.
[[nodiscard]] Result<std::string> read_agent_text(const std::filesystem::path& path);

/// Fails: as make_toolbox.
[[nodiscard]] Result<AgentSpec> make_agent_spec(const AgentFile& file, const AgentPlace& place,
                                                const ModelServices& services);

/// Paths that permissions deny are hidden from the tools for files; those that are asked about are
/// passed over by a search. The files of the key and of secrets, the state folder and what `place`
/// hides are hidden from tools for files and from sandboxed commands; what the agent is made of
/// (its file, its prompt, its script, its programs) is only read by them.
/// Fails: `not_found` for a program or a variable that is not there; `invalid_argument` as the
/// tools say, or for two tools of one name.
[[nodiscard]] Result<Toolbox> make_toolbox(const AgentFile& file, const AgentPlace& place);

/// Reads the key. Fails: as secrets.hpp and provider.hpp.
[[nodiscard]] Result<std::unique_ptr<Provider>> make_provider(const AgentFile& file,
                                                              const Environment& environment,
                                                              const ModelServices& services);

/// A line for each part of the file that says what the agent is or may do: `model`, `on_doubt`,
/// `permissions`, `roots`, `secrets`, `system_prompt`, `tools`. What only says how far a session
/// may go (budget, limits, prices, timeouts, cadence), where its key comes from, and the agent's
/// name are not in it; nor are comments, the order of keys, a default that is written out, or the
/// file's folder. The programs of tools are known by their commands only.
[[nodiscard]] std::string agent_digest(const AgentFile& file);

/// The JSON Schema of agent files: docs/reference/agent.schema.json, as it was when this was
/// compiled.
[[nodiscard]] std::string_view agent_schema();

}  // namespace perdure
