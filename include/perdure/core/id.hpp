// Names of things: ids as distinct types, where fresh ones come from, and the rule for every name.
//
// An id is text: any 1 to 128 bytes of valid UTF-8 without control characters (U+0000 to U+001F,
// U+007F to U+009F) and without a space at either end, from Perdure or from elsewhere. Comparison
// is by bytes. The tag makes a WorkerId where a SessionId belongs a compile error.

#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "perdure/core/error.hpp"

namespace perdure {

/// 128 bits, most significant byte first.
using RawId = std::array<std::uint8_t, 16>;

/// Where fresh ids come from. Thread safety: any thread, any time. If next() throws, a random id is
/// used.
class IdSource {
 public:
  virtual ~IdSource();

  /// A value never given before, by any source. Within one process they rise.
  [[nodiscard]] virtual RawId next() = 0;
};

/// UUIDs of version 7: milliseconds of wall time, a counter that keeps the order when the clock
/// steps back, and fresh bits from the kernel in every id, also after a fork(). Lives for ever.
[[nodiscard]] IdSource& random_ids();

/// 26 characters of lower-case Crockford base32. Texts sort as the bytes do.
[[nodiscard]] std::string to_base32(const RawId& raw);

inline constexpr std::size_t id_bytes_max = 128;

/// Checks the rule above, with `bytes_max` for the length: ids, channels, kinds, labels, tools and
/// the like keep it. `what` names the thing in the message: "channel".
/// Fails: `invalid_argument`.
[[nodiscard]] Result<void> check_name(std::string_view what, std::string_view text,
                                      std::size_t bytes_max);

template <class Tag>
class Id {
 public:
  /// No id. Never equal to one from parse() or mint().
  Id() = default;

  /// Any text that keeps the rule above, with or without the prefix of minted ids.
  /// Fails: `invalid_argument`.
  [[nodiscard]] static Result<Id> parse(std::string text) {
    auto checked = check_name(Tag::noun, text, id_bytes_max);
    if (!checked) return forward(checked);
    return Id(std::move(text));
  }

  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] bool empty() const { return text_.empty(); }

  auto operator<=>(const Id&) const = default;

 private:
  template <class AnyTag>
  friend Id<AnyTag> mint(IdSource& source);

  explicit Id(std::string text) : text_(std::move(text)) {}

  std::string text_;
};

/// `mint<SessionTag>(ids)` is "ses_01k…": the tag's prefix and the text of a fresh RawId.
template <class Tag>
[[nodiscard]] Id<Tag> mint(IdSource& source) {
  return Id<Tag>(std::string(Tag::prefix) + to_base32(source.next()));
}

struct SessionTag {
  static constexpr std::string_view prefix = "ses_";
  static constexpr std::string_view noun = "session id";
};
struct WorkerTag {
  static constexpr std::string_view prefix = "wrk_";
  static constexpr std::string_view noun = "worker id";
};
struct BatchTag {
  static constexpr std::string_view prefix = "bat_";
  static constexpr std::string_view noun = "batch id";
};
struct MessageTag {
  static constexpr std::string_view prefix = "msg_";
  static constexpr std::string_view noun = "message id";
};

using SessionId = Id<SessionTag>;
using WorkerId = Id<WorkerTag>;
using BatchId = Id<BatchTag>;
using MessageId = Id<MessageTag>;

}  // namespace perdure
