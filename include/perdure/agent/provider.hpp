// A model, behind one seam; what its tokens cost; and the providers there are: Anthropic Messages,
// OpenAI Chat Completions, a script.
//
// A Provider object belongs to one session. It builds the body of a request (`prepare`), and makes
// the request (`send`). Bodies grow with the conversation, so it keeps what it built and gets only
// what is new. It stores nothing: what `send` returns is committed by its caller. A response that
// was cut off is a value, with all of it that arrived.
//
// Thread safety: none; one thread at a time. `send` may be stopped from any thread.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "perdure/agent/secrets.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/conversation.hpp"

namespace perdure {

/// How many tokens the provider counted in a body of so many bytes.
struct CountedBody {
  std::int64_t tokens = 0;
  std::int64_t bytes = 0;
  bool operator==(const CountedBody&) const = default;
};

/// What a model is to be sent: the setup, and a conversation that is well-formed (provider_messages).
struct ModelRequest {
  const Setup& setup;
  std::size_t kept = 0;  ///< So many messages, from the first, are as they were prepared before.
  std::span<const Message> messages{};  ///< All that follow them.
  /// Where nothing is kept: what was counted last of this conversation, by whichever process.
  CountedBody counted{};
  /// Money is limited: the response must not have more tokens than PreparedRequest::tokens_out.
  bool is_capped = false;
};

/// What a request will be, before it is made.
struct PreparedRequest {
  Digest digest{};        ///< Of setup and conversation; the same in every process.
  std::size_t bytes = 0;  ///< Of the body.
  /// An upper estimate: what the provider counted last time, and one token for every two bytes
  /// that are new since. Text of few tokens has four bytes a token.
  std::int64_t tokens_in = 0;
  std::int64_t tokens_out = 0;  ///< The most the setup allows.
};

enum class StopReason : std::uint8_t {
  end,      ///< The model is done.
  calls,    ///< It waits for the results of its calls.
  length,   ///< It ran into a limit of tokens.
  refusal,  ///< It, or its provider, will not answer.
  paused,   ///< The provider wants the same conversation, with this response, once more.
  other,    ///< What the provider said is in `stop_text`.
};

[[nodiscard]] std::string_view to_string(StopReason reason);
[[nodiscard]] std::optional<StopReason> find_stop_reason(std::string_view text);

/// Providers count in different ways; here every number means the same for all.
struct ModelUsage {
  bool is_known = false;         ///< The provider told; otherwise the numbers are as far as it did.
  std::int64_t tokens_in = 0;    ///< All that was sent, from a cache or not.
  std::int64_t tokens_out = 0;   ///< All that was written, reasoning included.
  std::int64_t cache_read = 0;   ///< Of tokens_in.
  std::int64_t cache_write = 0;  ///< Of tokens_in.
  std::int64_t reasoning = 0;    ///< Of tokens_out, where the provider tells.
  bool operator==(const ModelUsage&) const = default;
};

struct ModelResponse {
  Message message{};  ///< Without id and time: the session that records it gives both.
  StopReason stop = StopReason::end;
  std::string stop_text{};  ///< The provider's word, and what it says about a refusal.
  ModelUsage usage{};
  std::string model{};        ///< That answered, as it calls itself.
  std::string response_id{};  ///< The provider's.
  std::string request_id{};   ///< What its support asks for.
  bool operator==(const ModelResponse&) const = default;
};

/// A response began, and its end did not come. It is paid for. `so_far.message` is partial.
struct CutOff {
  ModelResponse so_far{};
  Error error{};
  bool was_stopped = false;  ///< By the caller.
};

/// No response began.
struct NotAnswered {
  Error error{};
  /// The request was sent, and its outcome is not known. Otherwise it cost nothing.
  bool may_be_paid = false;
  bool was_stopped = false;  ///< By the caller.
  int status = 0;            ///< The last answer's; 0: there was none.
  int attempts = 1;
};

using ModelOutcome = std::variant<ModelResponse, CutOff, NotAnswered>;

/// A failed attempt that is followed by another.
struct RetryNotice {
  int attempt = 1;  ///< That failed; the first is 1.
  Duration wait{};  ///< Until the next.
  std::string_view why{};
};

/// Told while a response streams, on the thread that sends. What is not overridden is passed over.
/// What it throws is ignored: by the providers here, and by the agent loop.
class ModelObserver {
 public:
  virtual ~ModelObserver();
  /// A piece, in order.
  virtual void on_text(std::string_view piece);
  virtual void on_reasoning(std::string_view piece);
  /// A call that is whole. It is not to be made before the response is.
  virtual void on_call(const ToolCallBlock& call);
  virtual void on_retry(const RetryNotice& notice);
};

/// If a method throws, the agent loop takes it for a failure: of `prepare` an `unavailable`, of
/// `send` a connection that was lost: what came is recorded as partial, its cost as unconfirmed.
class Provider {
 public:
  virtual ~Provider();

  /// Builds the body. Costs what is new, whatever is kept. After a failure nothing is kept.
  /// Fails: `invalid_argument` for parameters that this provider sets itself, or that are no
  /// object, or for more `kept` messages than there are.
  [[nodiscard]] virtual Result<PreparedRequest> prepare(const ModelRequest& request) = 0;

  /// Sends what was prepared last. Repeats what failed before a response began, as long as the
  /// options allow, and only if it cost nothing.
  ///
  /// NotAnswered: `invalid_argument`, `not_found` for what the provider refuses, in its words;
  /// `unavailable` for what may succeed later, or was stopped.
  [[nodiscard]] virtual ModelOutcome send(ModelObserver& observer, std::stop_token stop) = 0;
};

/// Of one model, in micros (millionths of a dollar) per million tokens. 3,000,000 is three dollars.
struct Price {
  std::int64_t input = 0;
  std::int64_t output = 0;
  std::int64_t cache_read = 0;
  std::int64_t cache_write = 0;
  bool operator==(const Price&) const = default;
};

/// A value. A model that is not in it has no price: its tokens are counted, and what it costs is not
/// known, which is not the same as nothing.
class Prices {
 public:
  /// Knows no model.
  Prices() = default;
  /// What vendors asked when this version was made; they change it, so check what matters to you.
  [[nodiscard]] static Prices built_in();

  void set(std::string model, const Price& price);
  /// Takes over a table, JSON or YAML, in dollars per million tokens:
  /// `my-model: {input: 0.5, output: 2.25, cache_read: 0.05, cache_write: 0.6}`. Without a price
  /// for the cache, reading and writing it cost as input does.
  /// Fails: `invalid_argument`, with the line, for what is no such table, or says something twice.
  [[nodiscard]] Result<void> override_with(std::string_view text);

  /// By its name, or by its name without a date at the end (`-20260101`, `-2026-01-01`) or
  /// `-latest`. Nothing for a model that has no price.
  [[nodiscard]] std::optional<Price> find(std::string_view model) const;

 private:
  std::map<std::string, Price, std::less<>> models_;
};

/// Rounded up to a whole micro; the largest number there is if it does not fit.
[[nodiscard]] std::int64_t cost_of(const Price& price, const ModelUsage& usage);

/// The most that a request may cost, for its reservation: nothing read from a cache, all written
/// to it, all of the answer used.
[[nodiscard]] std::int64_t reservation_for(const Price& price, const PreparedRequest& request);

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
  Duration first_wait{500};  ///< Doubles, less up to a quarter by chance.
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

/// What all providers over HTTP have in common. Connections are encrypted, unless the server is on
/// this machine, or no key is sent.
struct HttpProviderOptions {
  std::string base_url{};  ///< Empty: the vendor's.
  ApiKey key{};
  std::string ca_file{};  ///< Certificates of whom to trust; empty: as the system does.
  HttpTimeouts timeouts{};
  RetryOptions retry{};
  /// Of one response's body, as it comes. What passes it is cut off there.
  std::size_t response_bytes_max = std::size_t{32} << 20U;
  std::vector<std::pair<std::string, std::string>> headers{};  ///< Sent as they are.
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
  /// The parameter by which a response is held to `tokens_out_max` where money is limited. Empty:
  /// `max_completion_tokens` for OpenAI, or at another base URL `max_tokens`.
  std::string cap_parameter{};
};

/// Fails: `invalid_argument` for a base URL that is none, or that a key must not be sent to.
[[nodiscard]] Result<std::unique_ptr<Provider>> make_anthropic(AnthropicOptions options,
                                                               const ModelServices& services);

/// Also what local and compatible servers speak: `base_url` says where they are.
/// Fails: as make_anthropic.
[[nodiscard]] Result<std::unique_ptr<Provider>> make_chat_completions(
    ChatOptions options, const ModelServices& services);

/// A model that says what a script says: for tests, and to show an agent without paying for one.
///
/// `{"responses": [{"reasoning", "text", "calls": [{"id", "name", "args"}], "stop", "usage", "model",
/// "fails": [{"code", "message", "may_be_paid", "status"}], "cut_off"}]}`, all of it optional. The
/// response to a conversation with n messages of the assistant is the one at index n. `fails` are
/// answers of the first attempts that this object makes at it; `cut_off`, a text, ends the response
/// with that error. Fails: `invalid_argument` for text that is no such script, with the place in it.
[[nodiscard]] Result<std::unique_ptr<Provider>> make_scripted(std::string_view script);

}  // namespace perdure
