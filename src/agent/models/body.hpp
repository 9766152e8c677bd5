// The body of a request, kept from one request to the next.
//
// A conversation only grows at its end, so each message is written once, when it is new: a turn
// costs its own text, not its history's. The head is written when the setup changes.

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
