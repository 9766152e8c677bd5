// The body of a request, kept from one request to the next.
//
// A conversation only grows at its end, so each message is written once, when it is new: a turn costs
// its own text, not its history's. The head is written when the setup changes.

#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/dialect.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/runtime/conversation.hpp"

namespace perdure {

class TextPile {
 public:
  void append(std::string_view piece);
  /// `bytes` is at most size().
  void cut(std::size_t bytes);
  [[nodiscard]] std::size_t size() const;

  /// Appends what stands between the two places, in order. Lives until the pile changes.
  void list(std::size_t begin, std::size_t end, std::vector<std::string_view>& to) const;

 private:
  std::vector<std::string> blocks_;  ///< All but the last are full.
};

class RequestBody {
 public:
  /// `format` outlives this.
  explicit RequestBody(const BodyFormat& format) : format_(format) {}

  /// Fails: as Provider::prepare; nothing is kept then.
  [[nodiscard]] Result<void> update(const ModelRequest& request);

  /// All of the body. Lives until the next update.
  [[nodiscard]] std::vector<std::string_view> parts() const;
  [[nodiscard]] std::size_t bytes() const;
  /// Over head and messages; the mark on the last one does not count.
  [[nodiscard]] const Digest& digest() const { return digest_; }
  [[nodiscard]] bool is_empty() const { return head_.empty(); }
  /// So many bytes were written since this was made: for tests that count.
  [[nodiscard]] std::size_t bytes_written() const { return bytes_written_; }

 private:
  struct Piece {
    Digest chain{};         // Of this message and all before it.
    std::size_t begin = 0;  // In the text, where its comma is.
  };

  [[nodiscard]] Result<void> write_head(const ModelRequest& request);
  void keep(std::size_t messages);
  void add(const Message& message);
  void clear();
  [[nodiscard]] Digest chain() const;
  [[nodiscard]] std::size_t end_of_text() const;
  [[nodiscard]] std::size_t comma_left_out() const;

  const BodyFormat& format_;
  std::optional<Setup> setup_;  // That the head is of.
  bool is_capped_ = false;
  std::string head_;
  TextPile text_;  // Each message with a comma in front.
  std::vector<Piece> pieces_;
  std::string last_;  // The last message as it is sent, with its comma.
  Digest digest_{};
  std::size_t bytes_written_ = 0;
};

}  // namespace perdure
