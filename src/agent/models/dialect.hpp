// What differs between providers over HTTP: how a conversation is written, how a stream is read.
//
// A dialect is pure: texts in, texts out. A body is a head, the messages, and a tail, so that a
// growing conversation is written once (body.hpp).

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
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
  /// no response, nothing has begun. Fails: as take().
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

/// Throws nothing: an observer is told in the middle of a stream, through a library that no
/// exception may pass, and the stream goes on without it.
class QuietObserver final : public ModelObserver {
 public:
  explicit QuietObserver(ModelObserver& observer) : observer_(observer) {}

  void on_text(std::string_view piece) override {
    tell([&] { observer_.on_text(piece); });
  }
  void on_reasoning(std::string_view piece) override {
    tell([&] { observer_.on_reasoning(piece); });
  }
  void on_call(const ToolCallBlock& call) override {
    tell([&] { observer_.on_call(call); });
  }
  void on_retry(const RetryNotice& notice) override {
    tell([&] { observer_.on_retry(notice); });
  }

 private:
  template <class What>
  static void tell(const What& what) {
    try {
      what();
    } catch (...) {  // NOLINT(bugprone-empty-catch): an observer changes nothing.
    }
  }

  ModelObserver& observer_;
};

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
