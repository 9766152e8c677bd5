// A model, behind one seam; what its tokens cost; and the providers there are: Anthropic Messages,
// OpenAI Chat Completions, a script.
//
// A Provider object belongs to one session. It builds the body of a request (`prepare`), and makes
// the request (`send`). It keeps the body it built and gets only what is new. It stores nothing:
// its caller commits what `send` returns. A cut-off response is a value, with all that arrived.
//
// One thread at a time; `send` may be stopped from any thread.

#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
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

#include "perdure/agent/tools.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/state.hpp"

namespace perdure {

/// How many tokens the provider counted in a body of so many bytes.
struct CountedBody {
  std::int64_t tokens = 0;
  std::int64_t bytes = 0;
  bool operator==(const CountedBody&) const = default;
};

/// What a model is sent: the setup, and a conversation as provider_messages returns it.
struct ModelRequest {
  const Setup& setup;
  std::size_t kept = 0;  ///< So many messages, from the first, are as they were prepared before.
  std::span<const Message> messages{};  ///< All that follow them.
  CountedBody counted{};                ///< Where nothing is kept: the last count, by any process.
  bool is_capped = false;  ///< The response must not exceed PreparedRequest::tokens_out.
};

/// What a request will be, before it is made.
struct PreparedRequest {
  Digest digest{};        ///< Of setup and conversation; the same in every process.
  std::size_t bytes = 0;  ///< Of the body.
  /// An upper estimate: the provider's last count, and one token for every two bytes since.
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

/// Providers count in different ways; here every number means the same for all.
struct ModelUsage {
  bool is_known = false;         ///< The provider reported all of it.
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
  std::string stop_text{};  ///< The provider's own reason, and its text about a refusal.
  ModelUsage usage{};
  std::string model{};        ///< That answered, as it calls itself.
  std::string response_id{};  ///< The provider's.
  std::string request_id{};   ///< What its support asks for.
  bool operator==(const ModelResponse&) const = default;
};

/// A response began, and its end did not come. It is paid for; its message is partial.
struct CutOff {
  ModelResponse so_far{};
  Error error{};
  bool was_stopped = false;  ///< By the caller.
};

/// No response began.
struct NotAnswered {
  Error error{};
  bool may_be_paid = false;  ///< It was sent, and its outcome is unknown. Else it cost nothing.
  bool was_stopped = false;  ///< By the caller.
  /// The last answer's; 0: there was none. With 401 or 403 the provider refused the key: an agent's
  /// run fails then about "authority".
  int status = 0;
  int attempts = 1;
};

using ModelOutcome = std::variant<ModelResponse, CutOff, NotAnswered>;

/// A failed attempt that is followed by another.
struct RetryNotice {
  int attempt = 1;  ///< That failed; the first is 1.
  Duration wait{};  ///< Until the next.
  std::string_view why{};
};

/// Called while a response streams, on the thread that sends. What it throws is ignored.
class ModelObserver {
 public:
  virtual ~ModelObserver();
  virtual void on_text(std::string_view piece);
  virtual void on_reasoning(std::string_view piece);
  /// A whole call. It must not be made before the response is complete.
  virtual void on_call(const ToolCallBlock& call);
  virtual void on_retry(const RetryNotice& notice);
};

/// For the agent loop a method that throws has failed: `prepare` as `unavailable`, `send` as a lost
/// connection; what came is recorded as partial, its cost as unconfirmed.
class Provider {
 public:
  virtual ~Provider();

  /// Builds the body. Costs what is new, not what is kept. After a failure nothing is kept.
  /// Fails: `invalid_argument` for parameters that this provider sets itself, or that are not an
  /// object, or for more `kept` messages than there are.
  [[nodiscard]] virtual Result<PreparedRequest> prepare(const ModelRequest& request) = 0;

  /// Sends what was prepared last. Repeats only what failed before a response began, and cost
  /// nothing. NotAnswered: `invalid_argument`, `not_found` for what the provider refuses, with its
  /// message; `unavailable` for what may succeed later, or was stopped.
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

/// A model that is not in it has no price: its tokens are counted, and its cost is unknown, which
/// is not the same as nothing.
class Prices {
 public:
  Prices() = default;  ///< Knows no model.
  /// What vendors asked when this version was made: check what matters to you.
  [[nodiscard]] static Prices built_in();

  /// In the place of the model's price, if it has one. A cache is free unless `price` says what it
  /// costs.
  void set(std::string model, const Price& price);
  /// By its name, with or without a date at the end (`-20260101`, `-2026-01-01`) or `-latest`.
  [[nodiscard]] std::optional<Price> find(std::string_view model) const;

 private:
  std::map<std::string, Price, std::less<>> models_;
};

/// Rounded up to a whole micro; the largest number there is if it does not fit.
[[nodiscard]] std::int64_t cost_of(const Price& price, const ModelUsage& usage);
/// The most that a request may cost: nothing read from a cache, all of the answer used.
[[nodiscard]] std::int64_t reservation_for(const Price& price, const PreparedRequest& request);

/// A key that opens an account. It cannot be printed, stored or compared by accident.
class ApiKey {
 public:
  ApiKey() = default;  ///< None: for servers that ask for none.
  /// `source`: where it was read, for a person.
  /// Fails: `invalid_argument` for what is empty, or could not be sent in a header.
  [[nodiscard]] static Result<ApiKey> from_text(std::string text, std::string source = {});

  [[nodiscard]] bool is_none() const { return text_.empty(); }
  [[nodiscard]] const std::string& source() const { return source_; }
  /// The key itself, for the header of a request.
  [[nodiscard]] const std::string& reveal() const { return text_; }
  /// `text` without the key: for text that came from outside.
  [[nodiscard]] std::string scrub(std::string text) const;

 private:
  std::string text_;
  std::string source_;
};

/// Fails: `not_found` if there is no such variable, or it is empty; as ApiKey::from_text.
[[nodiscard]] Result<ApiKey> api_key_from_environment(const Environment& environment,
                                                      const std::string& name);
/// The file's first line. Fails: `not_found`, `unavailable`; as ApiKey::from_text.
[[nodiscard]] Result<ApiKey> api_key_from_file(const std::filesystem::path& path);

/// Each restarts when something moves.
struct HttpTimeouts {
  Duration connect = std::chrono::seconds(10);
  Duration first_byte = std::chrono::minutes(5);  ///< Of the response's body.
  Duration idle = std::chrono::minutes(2);        ///< Between two pieces of it.
};

/// For requests that failed before a response began, and cost nothing. The provider's `retry-after`
/// is respected; if it goes beyond `total`, it is not waited for at all.
struct RetryOptions {
  Duration first_wait{500};  ///< Doubles, less up to a quarter by chance.
  Duration wait_max = std::chrono::seconds(32);
  Duration total = std::chrono::minutes(5);  ///< From the first attempt to the start of the last.
};

/// Where time and chance come from. Both references outlive the provider.
struct ModelServices {
  Clock& clock;
  IdSource& ids;
  /// Waits; if stopped, returns false at once. If it throws, the request is not made again.
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
  std::size_t response_bytes_max = std::size_t{32} << 20U;     ///< A longer response is cut off.
  std::vector<std::pair<std::string, std::string>> headers{};  ///< Sent as they are.
  /// Where the setup's parameters have no limit: sent to Anthropic, and to Chat Completions in a
  /// session with a budget; else only assumed.
  std::int64_t tokens_out_max = 8192;
};

struct AnthropicOptions {
  HttpProviderOptions http{};
  std::string version = "2023-06-01";
  bool cache_hints = true;  ///< Marks to cache up to: the system prompt, the last message.
};

struct ChatOptions {
  HttpProviderOptions http{};
  std::string system_role = "system";
  bool sends_reasoning = true;  ///< Back, in the field in which it came; some servers refuse it.
  /// The parameter that limits a response where money is limited. Empty: `max_completion_tokens`
  /// for OpenAI, or at another base URL `max_tokens`.
  std::string cap_parameter{};
};

/// Fails: `invalid_argument` for a URL that is not valid, or that a key must not be sent to.
[[nodiscard]] Result<std::unique_ptr<Provider>> make_anthropic(AnthropicOptions options,
                                                               const ModelServices& services);

/// Also what local and compatible servers speak: `base_url` says where they are.
/// Fails: as make_anthropic.
[[nodiscard]] Result<std::unique_ptr<Provider>> make_chat_completions(
    ChatOptions options, const ModelServices& services);

/// A model that says what a script says: for tests, and to show an agent without paying for one.
/// `{"responses": [{"reasoning", "text", "calls": [{"id", "name", "args"}], "stop", "usage",
/// "model", "fails": [{"code", "message", "may_be_paid", "status"}], "cut_off"}]}`, all of it
/// optional. The response to a conversation with n messages of the assistant is the one at index n.
/// `fails` are the outcomes of its first attempts; `cut_off`, a text, ends it with that error.
/// Fails: `invalid_argument` for text that is not such a script, with the place in it.
[[nodiscard]] Result<std::unique_ptr<Provider>> make_scripted(std::string_view script);

}  // namespace perdure
