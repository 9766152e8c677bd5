// Matches by content-defined stretches: a rolling hash over the last bytes says where one
// ends. Equal hashes are never believed: the bytes are compared.

#include "saver/match.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace perdure::saver {
namespace {

// Small enough that one changed message does not hide its neighbours; large enough that the
// index of a state is a small part of it.
constexpr std::size_t stretch_bytes_min = 64;
constexpr std::size_t stretch_bytes_max = 2048;
constexpr std::size_t next_to_bytes = 4096;
constexpr std::size_t nearby_bytes = 65'536;
constexpr std::uint64_t border_mask = 0xFF00'0000'0000'0000;  // One place in 256.

constexpr std::array<std::uint64_t, 256> make_byte_hashes() {
  std::array<std::uint64_t, 256> hashes{};
  std::uint64_t seed = 0;
  for (std::uint64_t& hash : hashes) {  // SplitMix64.
    seed += 0x9E37'79B9'7F4A'7C15;
    hash = seed;
    hash = (hash ^ (hash >> 30U)) * 0xBF58'476D'1CE4'E5B9;
    hash = (hash ^ (hash >> 27U)) * 0x94D0'49BB'1331'11EB;
    hash ^= hash >> 31U;
  }
  return hashes;
}

constexpr std::array<std::uint64_t, 256> byte_hashes = make_byte_hashes();

std::size_t common_prefix(std::string_view a, std::string_view b) {
  constexpr std::size_t block = 4096;
  const std::size_t size = std::min(a.size(), b.size());
  std::size_t same = 0;
  while (same + block <= size && a.compare(same, block, b, same, block) == 0) same += block;
  while (same < size && a[same] == b[same]) ++same;
  return same;
}

std::size_t common_suffix(std::string_view a, std::string_view b) {
  constexpr std::size_t block = 4096;
  const std::size_t size = std::min(a.size(), b.size());
  std::size_t same = 0;
  while (same + block <= size &&
         a.compare(a.size() - same - block, block, b, b.size() - same - block, block) == 0) {
    same += block;
  }
  while (same < size && a[a.size() - same - 1] == b[b.size() - same - 1]) ++same;
  return same;
}

/// How long the stretch is that `text` begins with.
std::size_t stretch_size(std::string_view text) {
  const std::size_t end = std::min(text.size(), stretch_bytes_max);
  std::uint64_t hash = 0;
  // The hash forgets what is more than 64 bytes back, so it can start at the shortest border.
  for (std::size_t i = 0; i < end; ++i) {
    hash = (hash << 1U) + byte_hashes.at(static_cast<std::uint8_t>(text[i]));
    if (i + 1 >= stretch_bytes_min && (hash & border_mask) == 0) return i + 1;
  }
  return end;
}

class Matcher {
 public:
  Matcher(std::string_view base, std::string_view next) : base_(base), next_(next) {}

  std::vector<Match> run() {
    for (std::size_t at = 0; at < next_.size();) {
      index_for(at);
      const std::size_t size = stretch_size(next_.substr(at));
      const auto found = stretches_.find(next_.substr(at, size));
      at = found == stretches_.end() ? at + size : take(found->second, at);
    }
    return std::move(matches_);
  }

 private:
  [[nodiscard]] std::size_t done() const {
    return matches_.empty() ? 0 : matches_.back().to + matches_.back().size;
  }

  // Most changes are small: what follows one is looked for nearby first, and the longer it is
  // not found, the further. Where that does not help, or hardly anything is left to look for, in
  // all of it. What was passed over in between is not lost: a match is widened backwards too.
  void index_for(std::size_t at) {
    const std::size_t passed = at - done();
    const bool nearby = passed < nearby_bytes && next_.size() - at > nearby_bytes;
    const std::size_t until =
        nearby ? std::min(base_.size(), base_done_ + next_to_bytes + 2 * passed) : base_.size();
    while (indexed_ < until) {
      const std::size_t size = stretch_size(base_.substr(indexed_));
      stretches_.emplace(base_.substr(indexed_, size), indexed_);
      indexed_ += size;
    }
  }

  // Widens the match both ways and returns where it ends in `next`.
  std::size_t take(std::size_t from, std::size_t to) {
    const std::size_t before =
        common_suffix(base_.substr(0, from), next_.substr(done(), to - done()));
    const std::size_t after = common_prefix(base_.substr(from), next_.substr(to));
    matches_.push_back({from - before, to - before, before + after});
    base_done_ = from + after;
    // What is kept here is hardly wanted once more: it need not be indexed.
    indexed_ = std::max(indexed_, base_done_);
    return to + after;
  }

  std::string_view base_;
  std::string_view next_;
  std::unordered_map<std::string_view, std::size_t> stretches_;
  std::size_t indexed_ = 0;
  std::size_t base_done_ = 0;  ///< Where the last match ends in `base`.
  std::vector<Match> matches_;
};

}  // namespace

std::vector<Match> find_matches(std::string_view base, std::string_view next) {
  const std::size_t prefix = common_prefix(base, next);
  const std::size_t suffix = common_suffix(base.substr(prefix), next.substr(prefix));
  const std::string_view base_rest = base.substr(prefix, base.size() - prefix - suffix);
  const std::string_view next_rest = next.substr(prefix, next.size() - prefix - suffix);
  std::vector<Match> matches;
  if (prefix > 0) matches.push_back({0, 0, prefix});
  if (base_rest.size() >= stretch_bytes_min && next_rest.size() >= stretch_bytes_min) {
    for (const Match& match : Matcher(base_rest, next_rest).run()) {
      matches.push_back({match.from + prefix, match.to + prefix, match.size});
    }
  }
  if (suffix > 0) matches.push_back({base.size() - suffix, next.size() - suffix, suffix});
  return matches;
}

}  // namespace perdure::saver
