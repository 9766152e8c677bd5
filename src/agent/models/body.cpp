// Pieces, their digests chained, so that cutting the end off needs no second look at the start.

#include "models/body.hpp"

#include <cstddef>
#include <future>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/dialect.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/runtime/message.hpp"

namespace perdure {
namespace {

std::string_view bytes_of(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

Digest chained(const Digest& before, std::string_view text) {
  thread_local Sha256 hash;
  hash.update(bytes_of(before));
  hash.update(text);
  return hash.finish();
}

// With room for no more than it is: a text that was put together has up to twice as much, and a
// long conversation is mostly this.
std::string with_comma(const std::string& text) {
  if (text.empty()) return {};
  std::string piece;
  piece.reserve(text.size() + 1);
  piece += ',';
  piece += text;
  return piece;
}

// From so many on a second thread pays: that is a session taken up again, not a turn.
constexpr std::size_t messages_for_two = 256;

}  // namespace

std::vector<std::string> RequestBody::written(std::span<const Message> messages) const {
  std::vector<std::string> texts;
  texts.reserve(messages.size());
  for (const Message& message : messages) texts.push_back(with_comma(format_.message(message)));
  return texts;
}

void RequestBody::add_all(std::span<const Message> messages) {
  const std::size_t here =
      messages.size() < messages_for_two ? messages.size() : messages.size() / 2;
  std::future<std::vector<std::string>> elsewhere;
  if (here < messages.size()) {
    elsewhere = std::async([&] { return written(messages.subspan(here)); });
  }
  for (std::string& text : written(messages.first(here))) add(std::move(text));
  if (!elsewhere.valid()) return;
  for (std::string& text : elsewhere.get()) add(std::move(text));
}

void RequestBody::add(std::string text) {
  const Digest before = pieces_.empty() ? Digest{} : pieces_.back().chain;
  const std::size_t start = pieces_.empty() ? 0 : pieces_.back().end;
  const Digest chain = text.empty() ? before : chained(before, text);
  const std::size_t size = text.size();
  bytes_written_ += size;
  pieces_.push_back({.text = std::move(text), .chain = chain, .end = start + size});
}

Result<void> RequestBody::update(const ModelRequest& request) {
  auto head = format_.head(request.setup);
  if (!head || request.kept > pieces_.size()) {
    head_.clear();
    pieces_.clear();
    if (!head) return forward(head);
    return fail(ErrorCode::invalid_argument, "more messages are kept than were prepared");
  }
  head_ = *std::move(head);
  const std::string cap = request.is_capped ? format_.cap(request.setup) : std::string();
  if (!cap.empty()) head_.insert(1, cap + ",");
  bytes_written_ += head_.size();
  // The mark of a message that was the last one goes with its form as the last.
  if (request.kept < pieces_.size() || !request.messages.empty()) last_.clear();
  pieces_.resize(request.kept);
  add_all(request.messages);
  if (!request.messages.empty()) {
    last_ = with_comma(format_.last_message(request.messages.back()));
    bytes_written_ += last_.size();
  }
  digest_ = chained(pieces_.empty() ? Digest{} : pieces_.back().chain, head_);
  bytes_ = head_.size() + body_tail.size();
  if (pieces_.empty() || pieces_.back().end == 0) return {};
  bytes_ += pieces_.back().end;
  if (!last_.empty()) bytes_ += last_.size() - pieces_.back().text.size();
  if (head_.ends_with('[')) --bytes_;  // The first comma is not sent.
  return {};
}

std::vector<std::string_view> RequestBody::parts() const {
  std::vector<std::string_view> parts;
  parts.reserve(pieces_.size() + 2);
  parts.emplace_back(head_);
  bool needs_comma = !head_.ends_with('[');
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    const bool is_last = i + 1 == pieces_.size();
    std::string_view text = is_last && !last_.empty() ? last_ : pieces_[i].text;
    if (text.empty()) continue;
    if (!needs_comma) text.remove_prefix(1);
    needs_comma = true;
    parts.push_back(text);
  }
  parts.push_back(body_tail);
  return parts;
}

}  // namespace perdure
