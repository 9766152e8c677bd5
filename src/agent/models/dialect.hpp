// What differs between providers over HTTP: how a conversation is written, how a stream is read.
//
// A dialect is pure: texts in, texts out. A body is a head, the messages, and a tail, so that a
// growing conversation is written once.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/http.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/runtime/state.hpp"

namespace perdure {

/// How far a response came.
struct StreamState {
  bool has_begun = false;  ///< Something of a response came.
  bool is_whole =
      false;  ///< The model's answer is all there, though its tokens may be counted yet.
  bool has_ended = false;  ///< The provider said that nothing follows.
  /// The provider sent an error before anything of a response: it costs nothing.
  bool was_refused = false;
};

/// Reads one response: event by event, or at once.
class ResponseStream {
 public:
  virtual ~ResponseStream() = default;
  /// Fails: `unavailable` for an error that the provider sends in the stream, in its words, or for
  /// what cannot be understood.
  [[nodiscard]] virtual Result<void> take(const SseEvent& event) = 0;
  /// The one object that a server answers with which does not stream; `raw` is its text. If it is
  /// not a response, nothing has begun. Fails: as take().
  [[nodiscard]] virtual Result<void> take_whole(const Json& json, std::string_view raw) = 0;
  [[nodiscard]] virtual const StreamState& state() const = 0;
  /// What came; asked once.
  [[nodiscard]] virtual ModelResponse finish() = 0;
};

/// Writes the body of a request.
class BodyFormat {
 public:
  virtual ~BodyFormat() = default;
  /// The body up to where messages begin. Fails: `invalid_argument`.
  [[nodiscard]] virtual Result<std::string> head(const Setup& setup) const = 0;
  /// Members that hold a response to so many tokens as are reckoned with; empty: it is held anyway.
  [[nodiscard]] virtual std::string cap(const Setup& /*setup*/) const { return {}; }
  /// One message, as one element or several, with commas between; empty if nothing of it is sent.
  /// The last of a body may carry a mark for the cache.
  [[nodiscard]] virtual std::string message(const Message& message, bool is_last) const = 0;
};

class Dialect : public BodyFormat {
 public:
  [[nodiscard]] virtual std::string_view name() const = 0;  ///< For people: "anthropic".
  [[nodiscard]] virtual std::int64_t tokens_out_max(const Setup& setup) const = 0;
  /// Beside the content's type; the key is in one of them.
  [[nodiscard]] virtual std::vector<std::pair<std::string, std::string>> headers() const = 0;
  [[nodiscard]] virtual std::unique_ptr<ResponseStream> open(ModelObserver& observer) const = 0;
};

[[nodiscard]] std::unique_ptr<const Dialect> anthropic_dialect(AnthropicOptions options);
[[nodiscard]] std::unique_ptr<const Dialect> chat_dialect(ChatOptions options);

/// Hands on what a model streams: `tell` is called with what to do with the observer.
template <class Tell>
class RelayObserver final : public ModelObserver {
 public:
  explicit RelayObserver(Tell tell) : tell_(std::move(tell)) {}

  void on_text(std::string_view piece) override {
    tell_([&](ModelObserver& to) { to.on_text(piece); });
  }
  void on_reasoning(std::string_view piece) override {
    tell_([&](ModelObserver& to) { to.on_reasoning(piece); });
  }
  void on_call(const ToolCallBlock& call) override {
    tell_([&](ModelObserver& to) { to.on_call(call); });
  }
  void on_retry(const RetryNotice& notice) override {
    tell_([&](ModelObserver& to) { to.on_retry(notice); });
  }

 private:
  Tell tell_;
};

/// One that throws nothing: an observer is called in the middle of a stream, through a library that
/// no exception may pass, and the stream continues without it.
[[nodiscard]] inline auto quiet_observer(ModelObserver& observer) {
  return RelayObserver([&observer](const auto& what) {
    try {
      what(observer);
    } catch (...) {  // NOLINT(bugprone-empty-catch): an observer changes nothing.
    }
  });
}

/// Ends every body: the messages are its last member.
inline constexpr std::string_view body_tail = "]}";

// The body of a request, kept from one request to the next.
//
// A conversation only grows at its end, so each message is written once, when it is new: a turn
// costs its own text, not its history's. The head is written when the setup changes.

class RequestBody {
 public:
  /// `format` outlives this.
  explicit RequestBody(const BodyFormat& format) : format_(format) {}

  /// Fails: as Provider::prepare; nothing is kept then.
  [[nodiscard]] Result<void> update(const ModelRequest& request);

  /// All of the body, one after the other. Lives until the next update.
  [[nodiscard]] std::vector<std::string_view> parts() const;
  [[nodiscard]] std::size_t bytes() const;
  /// Over head and messages; the mark on the last one does not count.
  [[nodiscard]] const Digest& digest() const { return digest_; }
  [[nodiscard]] bool is_empty() const { return head_.empty(); }
  /// So many bytes were written since this was made: for tests that count.
  [[nodiscard]] std::size_t bytes_written() const { return bytes_written_; }

 private:
  struct Piece {
    std::string text{};  // A message with a comma in front; empty if nothing of it is sent.
    Digest chain{};      // Of this message and all before it.
  };

  [[nodiscard]] Result<void> write_head(const ModelRequest& request);
  void add(const Message& message);
  [[nodiscard]] Digest chain() const { return pieces_.empty() ? Digest{} : pieces_.back().chain; }

  const BodyFormat& format_;
  std::optional<Setup> setup_;  // That the head is of.
  bool is_capped_ = false;
  std::string head_;
  std::vector<Piece> pieces_;
  std::string last_;  // The last message as it is sent, with its comma.
  Digest digest_{};
  std::size_t bytes_written_ = 0;
};

}  // namespace perdure

// What the formats have in common.
//
// A conversation that a provider refuses once, it refuses for ever. So what a model made up (a
// tool's name with a space, arguments that are not JSON), or another provider gave out (an id with
// a dot), is put into a form that all of them take; always into the same one.
namespace perdure::wire {

/// The text as a JSON string.
[[nodiscard]] std::string quoted(std::string_view text);

/// Letters, digits, `_` and `-`, at most 64 of them.
[[nodiscard]] std::string tool_name(std::string_view name);
[[nodiscard]] std::string call_id(std::string_view id);
/// As the model wrote them, if that is an object; none at all as an empty one; otherwise an object
/// that holds what it wrote.
[[nodiscard]] std::string call_args(std::string_view args);

/// The setup's parameters as members, `"a":1,"b":2`, each as it was written.
/// Fails: `invalid_argument` if they are not an object, or name one of `reserved`.
[[nodiscard]] Result<std::string> parameters(const Setup& setup,
                                             std::span<const std::string_view> reserved);
/// A number among the setup's parameters.
[[nodiscard]] std::optional<std::int64_t> parameter(const Setup& setup, std::string_view key);

/// Appends a piece of text. Two halves of a character that two pieces brought become one.
void append(std::string& text, std::string_view piece);

/// Blocks, or calls, of one response. More take much more room than their bytes, and no model means
/// them.
inline constexpr std::size_t blocks_max = 4096;

/// `data` itself if it is UTF-8; otherwise `room`, where each sequence that is none became U+FFFD.
/// One broken letter must not cost a response that is paid for.
[[nodiscard]] std::string_view as_text(std::string_view data, std::string& room);

/// What a JSON text that came from outside holds under `key`; 0 where it does not.
[[nodiscard]] std::int64_t number_in(const Json& json, std::string_view key);

/// A member of the object that `object` is, as it is written there; empty if there is none.
[[nodiscard]] std::string_view raw_in(std::string_view object, std::string_view key);

/// The member `vendor` of an object: what that vendor, and no other, is to get back. Empty if
/// there is none.
[[nodiscard]] std::string vendors_own(const RawJson& metadata, std::string_view vendor);
[[nodiscard]] std::string vendors_own(const Unknown& unknown, std::string_view vendor);

/// Whether a member is a count: a whole number that is not negative.
[[nodiscard]] bool has_count(const Json& json, std::string_view key);

/// The object with the members of another behind its own; each is as it was written.
[[nodiscard]] std::string with_members(std::string object, std::string_view of);

/// Whether there is an error in the place of a response, or behind it.
[[nodiscard]] bool has_error(const Json& json);

/// As to_string writes it.
[[nodiscard]] std::optional<StopReason> find_stop_reason(std::string_view text);

/// What a provider says about an error, from the body of its answer: `{"error": {"type",
/// "message"}}` in its usual variants, or whatever else there is.
[[nodiscard]] std::string error_words(std::string_view body);

/// The beginning of such words. After a key was looked for in them: one that is cut is not found.
[[nodiscard]] std::string shortened(std::string words);

}  // namespace perdure::wire
