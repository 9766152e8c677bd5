// Deltas: making, writing, reading, and folding many of them.
//
// Folding goes from the last delta to the first. What is still wanted is a few ranges of
// the text before; what a delta brings new is copied to its place at once. The other way
// round, every delta would copy the whole text.

#include "saver/delta.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/raw_json.hpp"
#include "perdure/store/limits.hpp"
#include "saver/match.hpp"

namespace perdure::saver {
namespace {

// Below this a range takes about as many bytes as its text.
constexpr std::size_t range_bytes_min = 24;

bool is_inside_character(std::string_view text, std::size_t at) {
  return at < text.size() && (static_cast<std::uint8_t>(text[at]) & 0xC0U) == 0x80U;
}

// Shrinks the match until both its ends are between characters.
Match align(std::string_view next, Match match) {
  while (match.size > 0 && is_inside_character(next, match.to)) {
    ++match.from;
    ++match.to;
    --match.size;
  }
  while (match.size > 0 && is_inside_character(next, match.to + match.size)) --match.size;
  return match;
}

std::unexpected<Error> no_delta(std::string_view why) {
  return fail(ErrorCode::corrupted, "not a change of a state: " + std::string(why));
}

// Never more than a state may have, so that sums do not overflow and nothing huge is made.
std::optional<std::size_t> number_in(std::string_view text) {
  const auto json = parse_json(text);
  const auto number = json ? json->as_uint64() : std::nullopt;
  if (!number || *number > body_bytes_max) return std::nullopt;
  return *number;
}

Result<Part> part_from(std::string_view text) {
  if (text.starts_with('[')) {
    const auto pair = split_array(text);
    if (!pair || pair->size() != 2) return no_delta("a range is a pair");
    const auto from = number_in(pair->at(0));
    const auto size = number_in(pair->at(1));
    if (!from || !size) return no_delta("a range has two numbers of a state's size");
    return Range{*from, *size};
  }
  const auto json = parse_json(text);
  if (!json || json->as_string() == nullptr) return no_delta("a part is a range or a text");
  return *json->as_string();
}

std::size_t size_of(const Part& part) {
  if (const auto* range = std::get_if<Range>(&part)) return range->size;
  return std::get<std::string>(part).size();
}

/// A part of the text to be made that is still to be found, in the text before.
struct Wanted {
  std::size_t to = 0;
  Range range{};
};

class Folding {
 public:
  explicit Folding(std::size_t size) : made_(size, '\0'), wanted_{{0, {0, size}}} {}

  // Both are in order of `range.from` only if the text did not move about, so each range
  // looks up where it begins.
  Result<void> go_back(const Delta& delta) {
    std::vector<std::size_t> starts;
    std::size_t total = 0;
    for (const Part& part : delta.parts) {
      starts.push_back(total);
      total += size_of(part);
    }
    if (total != delta.size) return no_delta("its parts are not its size");
    std::vector<Wanted> before;
    for (const Wanted& wanted : wanted_) {
      if (wanted.range.from > total || wanted.range.size > total - wanted.range.from) {
        return no_delta("what follows wants more than there is");
      }
      find(delta, starts, wanted, before);
    }
    wanted_ = std::move(before);
    return {};
  }

  Result<std::string> finish(std::string_view base) {
    for (const Wanted& wanted : wanted_) {
      const auto [from, size] = wanted.range;
      if (from > base.size() || size > base.size() - from) {
        return no_delta("it wants more of the whole state than there is");
      }
      base.substr(from, size).copy(made_.data() + wanted.to, size);
    }
    return std::move(made_);
  }

 private:
  void find(const Delta& delta, const std::vector<std::size_t>& starts, Wanted wanted,
            std::vector<Wanted>& before) {
    auto part = static_cast<std::size_t>(std::ranges::upper_bound(starts, wanted.range.from) -
                                         starts.begin());
    while (wanted.range.size > 0) {
      const std::size_t skip = wanted.range.from - starts[part - 1];
      const std::size_t size = std::min(size_of(delta.parts[part - 1]) - skip, wanted.range.size);
      take(delta.parts[part - 1], wanted.to, {skip, size}, before);
      wanted = {wanted.to + size, {wanted.range.from + size, wanted.range.size - size}};
      ++part;
    }
  }

  void take(const Part& part, std::size_t to, Range inside, std::vector<Wanted>& before) {
    if (const auto* text = std::get_if<std::string>(&part)) {
      text->copy(made_.data() + to, inside.size, inside.from);
      return;
    }
    const std::size_t from = std::get<Range>(part).from + inside.from;
    if (!before.empty()) {
      Wanted& last = before.back();
      const bool goes_on =
          last.to + last.range.size == to && last.range.from + last.range.size == from;
      if (goes_on) {
        last.range.size += inside.size;
        return;
      }
    }
    before.push_back({to, {from, inside.size}});
  }

  std::string made_;
  std::vector<Wanted> wanted_;
};

}  // namespace

Delta diff(std::string_view base, std::string_view next) {
  Delta delta{.size = next.size()};
  std::size_t done = 0;
  const auto add_text = [&](std::size_t until) {
    if (until > done) delta.parts.emplace_back(std::string(next.substr(done, until - done)));
  };
  for (const Match& found : find_matches(base, next)) {
    const Match match = align(next, found);
    if (match.size < range_bytes_min) continue;
    add_text(match.to);
    delta.parts.emplace_back(Range{match.from, match.size});
    done = match.to + match.size;
  }
  add_text(next.size());
  return delta;
}

std::string to_json(const Delta& delta) {
  std::string parts = "[";
  for (const Part& part : delta.parts) {
    if (parts.size() > 1) parts += ',';
    if (const auto* range = std::get_if<Range>(&part)) {
      parts += Json(Json::Array{range->from, range->size}).text();
    } else {
      parts += Json(std::get<std::string>(part)).text();
    }
  }
  ObjectWriter writer;
  writer.add("size", delta.size);
  writer.add_raw("parts", parts + "]");
  return writer.finish();
}

Result<Delta> delta_from_json(std::string_view text) {
  const auto members = split_object(text);
  if (!members) return no_delta("it is no object");
  Delta delta;
  std::optional<std::string_view> parts;
  std::optional<std::size_t> size;
  for (const RawMember& member : *members) {
    if (member.key == "v") return fail(ErrorCode::unsupported, "a state of a newer version");
    if (member.key == "size") size = number_in(member.value);
    if (member.key == "parts") parts = member.value;
  }
  if (!size || !parts) return no_delta("it has no size or no parts");
  delta.size = *size;
  const auto elements = split_array(*parts);
  if (!elements) return no_delta("its parts are no array");
  for (const std::string_view element : *elements) {
    auto part = part_from(element);
    if (!part) return forward(part);
    delta.parts.push_back(*std::move(part));
  }
  return delta;
}

Result<std::string> fold(std::string_view base, const std::vector<Delta>& deltas) {
  if (deltas.empty()) return std::string(base);
  Folding folding(deltas.back().size);
  for (auto delta = deltas.rbegin(); delta != deltas.rend(); ++delta) {
    if (auto gone = folding.go_back(*delta); !gone) return forward(gone);
  }
  return folding.finish(base);
}

}  // namespace perdure::saver
