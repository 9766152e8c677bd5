// Which agent a session is of: a file, or a model alone. A session remembers it in its metadata, as
// `{"agent": {"file", "model", "provider", "base_url"}}`, so that `resume SES` needs no more than SES.
//
// What a bundle says of it is not trusted: an import sets it aside (bundle.hpp), and it counts
// once the user has accepted it. Until then it would choose the server that gets the user's key, and
// the programs that run.

#pragma once

#include <optional>
#include <string>

#include "agent/api/agent_file.hpp"
#include "perdure/agent/tools.hpp"
#include "perdure/core/error.hpp"

namespace perdure::cli {

class Invocation;

struct AgentSource {
  std::string file{};      ///< A whole path; empty: no file, only a model.
  std::string model{};     ///< Instead of the file's; of `scripted` the path of a script.
  std::string provider{};  ///< "anthropic", "openai" or "scripted".
  std::string base_url{};
  bool operator==(const AgentSource&) const = default;
};

/// What the options --model, --provider and --base-url say, and a file, if there is one; relative
/// paths are relative to `folder`.
[[nodiscard]] AgentSource source_of(const Invocation& given, const std::string& file,
                                    const std::string& folder);

/// Empty: the session does not say.
[[nodiscard]] std::optional<AgentSource> source_in(const std::string& metadata);
/// What the session said in the bundle that it came out of. Empty: it said nothing, or is of here.
[[nodiscard]] std::optional<AgentSource> imported_source_in(const std::string& metadata);
/// For people: "agent.yaml", "gpt-9 (openai) at http://…". Not made visible yet.
[[nodiscard]] std::string source_words(const AgentSource& source);
/// The metadata with this source in it; the rest stays.
[[nodiscard]] std::string with_source(const std::string& metadata, const AgentSource& source);

/// Reads the agent. A provider that is not named is guessed: by a base URL, the model's name, or what
/// the environment has of it: OPENAI_BASE_URL or ANTHROPIC_BASE_URL, or a key. A server that the
/// environment names is written into the source, so that a resume finds it without.
/// Fails: `not_found` for a file that is gone; as read_agent_file; `invalid_argument` if the
/// model's provider cannot be guessed.
[[nodiscard]] Result<AgentFile> load_agent(AgentSource& source, const Environment& environment);

}  // namespace perdure::cli
