// The providers there are: Anthropic Messages, OpenAI Chat Completions, a script.
//
// Chat Completions is also what local and compatible servers speak: say where they are by
// `base_url`. Connections are encrypted, unless the server is on this machine, or no key is sent.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "perdure/agent/provider.hpp"
#include "perdure/agent/secrets.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id_source.hpp"
#include "perdure/core/time.hpp"

namespace perdure {

/// Each restarts when something moves.
struct HttpTimeouts {
  Duration connect = std::chrono::seconds(10);
  Duration first_byte = std::chrono::minutes(5);  ///< Of the response's body.
  Duration idle = std::chrono::minutes(2);        ///< Between two pieces of it.
};

/// For requests that failed before a response began, and cost nothing: too many at once, overloaded,
/// broken on their side, not to be reached. What the provider says it wants to wait is respected;
/// if that goes beyond `total`, it is not waited for at all.
struct RetryOptions {
  Duration first_wait =
      std::chrono::milliseconds(500);  ///< Doubles, less up to a quarter by chance.
  Duration wait_max = std::chrono::seconds(32);
  Duration total = std::chrono::minutes(5);  ///< From the first attempt to the start of the last.
};

/// Where time and chance come from. Both references outlive the provider.
struct ModelServices {
  Clock& clock;
  IdSource& ids;
  /// Waits, unless stopped: then it returns false, at once. Empty: the machine's own way. If it
  /// throws, the request is not made again.
  std::function<bool(Duration, const std::stop_token&)> wait{};
};

/// What all providers over HTTP have in common.
struct HttpProviderOptions {
  std::string base_url{};  ///< Empty: the vendor's.
  ApiKey key{};
  /// Certificates of whom to trust, for a server of one's own; empty: as the system does.
  std::string ca_file{};
  HttpTimeouts timeouts{};
  RetryOptions retry{};
  /// Of one response's body, as it comes. What passes it is cut off there.
  std::size_t response_bytes_max = std::size_t{32} << 20U;
  /// Sent as they are: a beta's name, an organisation.
  std::vector<std::pair<std::string, std::string>> headers{};
  /// Where the setup's parameters do not say how long a response may be: Anthropic gets this; Chat
  /// Completions in a session with a budget, else it is only assumed.
  std::int64_t tokens_out_max = 8192;
};

struct AnthropicOptions {
  HttpProviderOptions http{};
  std::string version = "2023-06-01";
  /// Marks where the prompt is worth caching: after the system prompt, and after the last message.
  bool cache_hints = true;
};

struct ChatOptions {
  HttpProviderOptions http{};
  std::string system_role = "system";
  /// Reasoning goes back in the field in which it came, to servers that want it (DeepSeek,
  /// OpenRouter …); those that refuse it say false.
  bool sends_reasoning = true;
  /// The parameter by which a response is held to `tokens_out_max` where money is limited. Empty: what
  /// OpenAI wants, `max_completion_tokens`, or at another base URL what nearly all servers know,
  /// `max_tokens`.
  std::string cap_parameter{};
};

/// Fails: `invalid_argument` for a base URL that is none, or that a key must not be sent to.
[[nodiscard]] Result<std::unique_ptr<Provider>> make_anthropic(AnthropicOptions options,
                                                               const ModelServices& services);

/// Fails: as make_anthropic.
[[nodiscard]] Result<std::unique_ptr<Provider>> make_chat_completions(
    ChatOptions options, const ModelServices& services);

/// A model that says what a script says: for tests, and to show an agent without paying for one.
///
/// `{"responses": [{"reasoning", "text", "calls": [{"id", "name", "args"}], "stop", "usage", "model",
/// "fails": [{"code", "message", "may_be_paid", "status"}], "cut_off"}]}`, all of it optional. The
/// response to a conversation with n messages of the assistant is the one at index n, so that a
/// process that resumes goes on rightly. `fails` are answers of the first attempts that this
/// object makes at it; `cut_off`, a text, ends the response with that error.
/// Fails: `invalid_argument` for text that is no such script, with the place in it.
[[nodiscard]] Result<std::unique_ptr<Provider>> make_scripted(std::string_view script);

}  // namespace perdure
