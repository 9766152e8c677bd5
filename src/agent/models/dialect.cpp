// Messages one after the other, their digests chained, so that cutting the end off needs no second
// look at the start.

#include "models/dialect.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/api/sha256.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/runtime/state.hpp"

namespace perdure {
namespace {

Digest chained(const Digest& before, std::string_view text) {
  thread_local Sha256 hash;
  hash.update({reinterpret_cast<const char*>(before.data()), before.size()});
  hash.update(text);
  return hash.finish();
}

}  // namespace

void RequestBody::add(const Message& message) {
  std::string text = format_.message(message, false);
  if (!text.empty()) text.insert(0, 1, ',');
  bytes_written_ += text.size();
  const Digest before = chain();
  pieces_.push_back({.text = std::move(text), .chain = before});
  Piece& piece = pieces_.back();
  if (!piece.text.empty()) piece.chain = chained(before, piece.text);
}

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

Result<void> RequestBody::update(const ModelRequest& request) {
  auto written = write_head(request);
  if (written && request.kept > pieces_.size()) {
    written = fail(ErrorCode::invalid_argument, "more messages are kept than were prepared");
  }
  if (!written) {
    setup_.reset();
    head_.clear();
    pieces_.clear();
    last_.clear();
    return written;
  }
  // The mark of a message that was the last one goes with its form as the last.
  if (request.kept < pieces_.size() || !request.messages.empty()) last_.clear();
  pieces_.resize(request.kept);
  for (const Message& message : request.messages) add(message);
  if (!request.messages.empty()) {
    last_ = format_.message(request.messages.back(), true);
    if (!last_.empty()) last_.insert(0, 1, ',');
    bytes_written_ += last_.size();
  }
  digest_ = chained(chain(), head_);
  return {};
}

std::size_t RequestBody::bytes() const {
  std::size_t bytes = 0;
  for (const std::string_view part : parts()) bytes += part.size();
  return bytes;
}

std::vector<std::string_view> RequestBody::parts() const {
  std::vector<std::string_view> parts{head_};
  const auto add = [&](std::string_view text) {
    // The first comma is not sent where nothing is before it.
    if (parts.size() == 1 && head_.ends_with('[') && !text.empty()) text.remove_prefix(1);
    if (!text.empty()) parts.push_back(text);
  };
  const std::size_t whole = pieces_.size() - (last_.empty() ? 0 : 1);
  for (std::size_t i = 0; i < whole; ++i) add(pieces_[i].text);
  add(last_);
  parts.push_back(body_tail);
  return parts;
}

}  // namespace perdure
