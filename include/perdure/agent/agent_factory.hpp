// What an agent file makes: an agent, its tools, its provider; and the digest by which a session knows
// that its agent is another than it was.
//
// The digest of an agent is a line for each part of the file that says what the agent is or may do,
// with the hash of that part: `model`, `on_doubt`, `permissions`, `roots`, `secrets`,
// `system_prompt`, `tools`. So two digests alone tell which parts changed, and nothing else needs to
// be kept. What only says how far a session may go (budget, limits, prices, timeouts, cadence), where
// its key comes from, and the agent's name are not in it: raising a budget changes no agent. Nor do
// comments, the order of keys, a default that is written out, or the folder that the file is in. The
// text of a prompt's file does. The programs of tools are known by their commands only.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "perdure/agent/agent.hpp"
#include "perdure/agent/agent_file.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/agent/providers.hpp"
#include "perdure/agent/secrets.hpp"
#include "perdure/agent/toolbox.hpp"
#include "perdure/core/error.hpp"

namespace perdure {

/// Where an agent's tools run.
struct AgentPlace {
  /// For the key, secrets, and variables that tools are passed.
  Environment environment{};
  std::string state_folder{};  ///< Of this machine and user.
  /// As ExecSpec's state folder; empty: the one above.
  std::string programs_folder{};
  /// Whole paths that no tool for files and no sandboxed command sees: the files of the store, for
  /// one: a tool that writes there could approve its own calls.
  std::vector<std::string> hidden{};
};

/// The agent of a file, whole: for Agent::start. A key is read when a session is first run.
/// Fails: as make_toolbox.
[[nodiscard]] Result<AgentSpec> make_agent_spec(const AgentFile& file, const AgentPlace& place,
                                                const ModelServices& services);

/// Paths that permissions deny are hidden from the tools for files; those that are asked about are
/// passed over by a search that was not asked about. The files of the key and of secrets, the state
/// folder and what `place` hides are hidden from tools for files and from sandboxed commands; what
/// the agent is made of (its file, its prompt, its script, its programs) is only read by them.
/// Fails: `not_found` for a program or a variable that is not there; `invalid_argument` as the tools
/// say, or for two tools of one name.
[[nodiscard]] Result<Toolbox> make_toolbox(const AgentFile& file, const AgentPlace& place);

/// Reads the key. Fails: as secrets.hpp and providers.hpp.
[[nodiscard]] Result<std::unique_ptr<Provider>> make_provider(const AgentFile& file,
                                                              const Environment& environment,
                                                              const ModelServices& services);

/// For changed_parts (agent.hpp).
[[nodiscard]] std::string agent_digest(const AgentFile& file);

}  // namespace perdure
