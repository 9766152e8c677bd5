// The body of a request, kept from one request to the next.
//
// A conversation only grows at its end, so each message is written once, when it is new. What is
// sent is the pieces one after the other, never copied together: a turn costs its own text, not
// its history's.

#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/dialect.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/runtime/message.hpp"

namespace perdure {

class RequestBody {
 public:
  /// `format` outlives this.
  explicit RequestBody(const BodyFormat& format) : format_(format) {}

  /// Fails: as Provider::prepare; nothing is kept then.
  [[nodiscard]] Result<void> update(const ModelRequest& request);

  /// All of the body. Lives until the next update.
  [[nodiscard]] std::vector<std::string_view> parts() const;
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  /// Over head and messages; the mark on the last one does not count.
  [[nodiscard]] const Digest& digest() const { return digest_; }
  [[nodiscard]] bool is_empty() const { return head_.empty(); }
  /// So many bytes were written since this was made: for tests that count.
  [[nodiscard]] std::size_t bytes_written() const { return bytes_written_; }

 private:
  struct Piece {
    std::string text;     // With a comma in front.
    Digest chain{};       // Of this message and all before it.
    std::size_t end = 0;  // The bytes of all messages up to here.
  };

  [[nodiscard]] std::vector<std::string> written(std::span<const Message> messages) const;
  void add_all(std::span<const Message> messages);
  void add(std::string text);

  const BodyFormat& format_;
  std::string head_;
  std::vector<Piece> pieces_;
  std::string last_;  // The last piece as it is sent.
  Digest digest_{};
  std::size_t bytes_ = 0;
  std::size_t bytes_written_ = 0;
};

}  // namespace perdure
