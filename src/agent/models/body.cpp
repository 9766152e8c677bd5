// Messages one after the other, their digests chained, so that cutting the end off needs no second look
// at the start.

#include "models/body.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/api/sha256.hpp"
#include "models/dialect.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/runtime/conversation.hpp"

namespace perdure {
namespace {

constexpr std::size_t block_bytes = std::size_t{1} << 16U;

}  // namespace

std::size_t TextPile::size() const {
  return blocks_.empty() ? 0 : (blocks_.size() - 1) * block_bytes + blocks_.back().size();
}

void TextPile::append(std::string_view piece) {
  while (!piece.empty()) {
    if (blocks_.empty() || blocks_.back().size() == block_bytes) {
      blocks_.emplace_back().reserve(block_bytes);
    }
    std::string& block = blocks_.back();
    const std::size_t fits = std::min(piece.size(), block_bytes - block.size());
    block.append(piece.substr(0, fits));
    piece.remove_prefix(fits);
  }
}

void TextPile::cut(std::size_t bytes) {
  blocks_.resize((bytes + block_bytes - 1) / block_bytes);
  if (!blocks_.empty()) blocks_.back().resize(bytes - (blocks_.size() - 1) * block_bytes);
}

void TextPile::list(std::size_t begin, std::size_t end, std::vector<std::string_view>& to) const {
  while (begin < end) {
    const std::size_t block = begin / block_bytes;
    const std::size_t here = std::min(end, (block + 1) * block_bytes) - begin;
    to.push_back(std::string_view(blocks_[block]).substr(begin % block_bytes, here));
    begin += here;
  }
}

namespace {

constexpr std::string_view comma = ",";

std::string_view bytes_of(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

Digest chained(const Digest& before, std::string_view mark, std::string_view text) {
  thread_local Sha256 hash;
  hash.update(bytes_of(before));
  hash.update(mark);
  hash.update(text);
  return hash.finish();
}

}  // namespace

void RequestBody::add(const Message& message) {
  const std::string text = format_.message(message);
  const std::size_t begin = text_.size();
  const Digest before = chain();
  pieces_.push_back(
      {.chain = text.empty() ? before : chained(before, comma, text), .begin = begin});
  if (text.empty()) return;
  text_.append(comma);
  text_.append(text);
  bytes_written_ += text_.size() - begin;
}

Digest RequestBody::chain() const { return pieces_.empty() ? Digest{} : pieces_.back().chain; }

Result<void> RequestBody::write_head(const ModelRequest& request) {
  if (setup_ == request.setup && is_capped_ == request.is_capped) return {};
  auto head = format_.head(request.setup);
  if (!head) return forward(head);
  head_ = *std::move(head);
  const std::string cap = request.is_capped ? format_.cap(request.setup) : std::string();
  if (!cap.empty()) head_.insert(1, cap + ",");
  bytes_written_ += head_.size();
  setup_ = request.setup;
  is_capped_ = request.is_capped;
  return {};
}

void RequestBody::keep(std::size_t messages) {
  if (messages == pieces_.size()) return;
  text_.cut(pieces_[messages].begin);
  pieces_.resize(messages);
}

Result<void> RequestBody::update(const ModelRequest& request) {
  auto written = write_head(request);
  if (written && request.kept > pieces_.size()) {
    written = fail(ErrorCode::invalid_argument, "more messages are kept than were prepared");
  }
  if (!written) {
    clear();
    return written;
  }
  // The mark of a message that was the last one goes with its form as the last.
  if (request.kept < pieces_.size() || !request.messages.empty()) last_.clear();
  keep(request.kept);
  for (const Message& message : request.messages) add(message);
  if (!request.messages.empty()) {
    last_ = format_.last_message(request.messages.back());
    if (!last_.empty()) last_.insert(0, comma);
    bytes_written_ += last_.size();
  }
  digest_ = chained(chain(), {}, head_);
  return {};
}

void RequestBody::clear() {
  setup_.reset();
  head_.clear();
  text_.cut(0);
  pieces_.clear();
  last_.clear();
}

std::size_t RequestBody::end_of_text() const {
  return last_.empty() ? text_.size() : pieces_.back().begin;
}

// The first comma is not sent where nothing stands before it.
std::size_t RequestBody::comma_left_out() const {
  const bool has_messages = end_of_text() > 0 || !last_.empty();
  return has_messages && head_.ends_with('[') ? comma.size() : 0;
}

std::size_t RequestBody::bytes() const {
  return head_.size() + end_of_text() + last_.size() - comma_left_out() + body_tail.size();
}

std::vector<std::string_view> RequestBody::parts() const {
  std::vector<std::string_view> parts{head_};
  const std::size_t begin = comma_left_out();
  const std::size_t end = end_of_text();
  text_.list(begin, end, parts);
  if (!last_.empty()) parts.push_back(std::string_view(last_).substr(end == 0 ? begin : 0));
  parts.push_back(body_tail);
  return parts;
}

}  // namespace perdure
