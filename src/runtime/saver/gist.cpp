// Gists: made from a state in hand, and found again in the next.

#include "saver/gist.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "perdure/core/base64.hpp"
#include "perdure/core/poly1305.hpp"
#include "perdure/core/sha256.hpp"
#include "saver/delta.hpp"
#include "saver/match.hpp"

namespace perdure::saver {
namespace {

constexpr std::size_t ranges_max = 8;
// Where a range begins and ends varies by what the texts beside it happen to have in common.
constexpr std::size_t edge_bytes = 1024;
constexpr std::size_t landmark_bytes = 64;
// How far a core may have moved since.
constexpr std::size_t shift_bytes_max = 65'536;
constexpr std::size_t new_bytes_max = 65'536;

std::string tag_of(const Digest& key, std::string_view text) {
  const Poly1305Tag tag = poly1305(key, text);
  return to_base64({reinterpret_cast<const char*>(tag.data()), tag.size()});
}

Brief brief_of(const Digest& key, std::string_view text) {
  std::size_t front = edge_bytes;
  std::size_t back = edge_bytes;
  if (text.size() <= front + back + edge_bytes) return {.front = std::string(text)};
  while (!is_between_characters(text, front)) ++front;
  while (!is_between_characters(text, text.size() - back)) ++back;
  return {.front = std::string(text.substr(0, front)),
          .tag = tag_of(key, text.substr(front, text.size() - front - back)),
          .back = std::string(text.substr(text.size() - back))};
}

/// Looks for the cores of one text in another, in order.
class CoreFinder {
 public:
  CoreFinder(const KnownText& base, const Digest& key, std::string_view next)
      : base_(base), key_(key), next_(next) {}

  // The matches that they are and those around them; nothing if one core is not there.
  std::optional<std::vector<Match>> run() {
    for (std::size_t i = 0; i < base_.size(); ++i) {
      const auto* core = std::get_if<Core>(&base_[i]);
      if (core == nullptr) {
        before_ = std::get<std::string>(base_[i]);
        continue;
      }
      const auto* after = i + 1 < base_.size() ? std::get_if<std::string>(&base_[i + 1]) : nullptr;
      const auto at = find(*core, after != nullptr ? *after : std::string_view());
      if (!at) return std::nullopt;
      match_text_until(*at);
      base_done_ += before_.size();
      add({base_done_, *at, core->size});
      base_done_ += core->size;
      next_done_ = *at + core->size;
      before_ = {};
    }
    match_text_until(next_.size());
    return std::move(matches_);
  }

 private:
  // By the text before it, which the new state has near the same place, and the text after it.
  std::optional<std::size_t> find(const Core& core, std::string_view after) const {
    if (before_.empty()) return check(core, next_done_);
    const std::string_view landmark =
        before_.substr(before_.size() - std::min(before_.size(), landmark_bytes));
    after = after.substr(0, landmark_bytes);
    const std::boyer_moore_horspool_searcher searcher(landmark.begin(), landmark.end());
    const std::size_t room = before_.size() + shift_bytes_max;
    const std::string_view near = next_.substr(next_done_, room);
    for (auto from = near.begin(); from != near.end();) {
      const auto [first, last] = searcher(from, near.end());
      if (first == last) return std::nullopt;
      const auto at = next_done_ + static_cast<std::size_t>(last - near.begin());
      const bool fits = core.size <= next_.size() - at;
      if (fits && next_.substr(at + core.size).starts_with(after)) return check(core, at);
      from = first + 1;
    }
    return std::nullopt;
  }

  [[nodiscard]] std::optional<std::size_t> check(const Core& core, std::size_t at) const {
    if (core.size > next_.size() - at) return std::nullopt;
    if (tag_of(key_, next_.substr(at, core.size)) != core.tag) return std::nullopt;
    return at;
  }

  void match_text_until(std::size_t end) {
    const std::string_view text = next_.substr(next_done_, end - next_done_);
    for (const Match& match : find_matches(before_, text)) {
      add({base_done_ + match.from, next_done_ + match.to, match.size});
    }
  }

  void add(const Match& match) {
    Match* last = matches_.empty() ? nullptr : &matches_.back();
    const bool goes_on = last != nullptr && last->from + last->size == match.from &&
                         last->to + last->size == match.to;
    if (goes_on) {
      last->size += match.size;
    } else {
      matches_.push_back(match);
    }
  }

  const KnownText& base_;
  const Digest& key_;
  std::string_view next_;
  std::string_view before_;  ///< The text since the last core.
  std::size_t base_done_ = 0;
  std::size_t next_done_ = 0;
  std::vector<Match> matches_;
};

}  // namespace

std::optional<Gist> make_gist(const Delta& delta, std::string_view next, const std::string& key,
                              std::size_t cost) {
  Gist gist{.key = key, .cost = cost};
  const Digest digest = sha256(key);
  std::size_t at = 0;
  for (const Part& part : delta.parts) {
    const auto* range = std::get_if<Range>(&part);
    if (range == nullptr) {
      at += std::get<std::string>(part).size();
      continue;
    }
    if (gist.briefs.size() == ranges_max) return std::nullopt;
    gist.briefs.push_back(brief_of(digest, next.substr(at, range->size)));
    at += range->size;
  }
  return gist;
}

std::optional<Delta> diff_known(const KnownText& base, const std::string& key,
                                std::string_view next) {
  const Digest digest = sha256(key);
  const auto matches = CoreFinder(base, digest, next).run();
  if (!matches) return std::nullopt;
  Delta delta = to_delta(*matches, next);
  std::size_t added = 0;
  for (const Part& part : delta.parts) {
    if (const auto* text = std::get_if<std::string>(&part)) added += text->size();
  }
  if (added > new_bytes_max) return std::nullopt;
  return delta;
}

}  // namespace perdure::saver
