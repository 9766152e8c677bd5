// Deltas: making, writing, reading, and folding many of them.

#include "saver/delta.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <expected>
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

// Shrinks the match until both its ends are between characters.
Match align(std::string_view next, Match match) {
  while (match.size > 0 && !is_between_characters(next, match.to)) {
    ++match.from;
    ++match.to;
    --match.size;
  }
  while (match.size > 0 && !is_between_characters(next, match.to + match.size)) --match.size;
  return match;
}

std::unexpected<Error> no_delta(std::string_view why) {
  return fail(ErrorCode::corrupted, "not a change of a state: " + std::string(why));
}

// Never more than a state may have, so that sums do not overflow and nothing huge is made.
std::optional<std::size_t> number_in(const Json& json) {
  const auto number = json.as_uint64();
  if (number && *number > body_bytes_max) return std::nullopt;
  return number;
}

Result<Part> part_from(const Json& json) {
  if (json.as_string() != nullptr) return *json.as_string();
  const Json::Array* pair = json.as_array();
  if (pair == nullptr || pair->size() != 2) return no_delta("a part is a pair or a text");
  const auto from = number_in(pair->at(0));
  const auto size = number_in(pair->at(1));
  if (!from || !size) return no_delta("a range has two numbers of a state's size");
  return Range{*from, *size};
}

bool is_within(const Range& range, std::size_t size) {
  return range.from <= size && range.size <= size - range.from;
}

std::size_t size_of(const Part& part) {
  if (const auto* range = std::get_if<Range>(&part)) return range->size;
  return std::get<std::string>(part).size();
}

std::size_t core_size(const Brief& brief, std::size_t range) {
  return range - brief.front.size() - brief.back.size();
}

Result<Brief> brief_from(const Json& json) {
  const Json::Array* texts = json.as_array();
  const auto is_text = [](const Json& text) { return text.as_string() != nullptr; };
  if (texts == nullptr || texts->size() != 3 || !std::ranges::all_of(*texts, is_text)) {
    return no_delta("of what it keeps, a brief has three texts");
  }
  return Brief{*texts->at(0).as_string(), *texts->at(1).as_string(), *texts->at(2).as_string()};
}

bool fits(const Brief& brief, const Range& range) {
  const std::size_t text = brief.front.size() + brief.back.size();
  return brief.tag.empty() ? text == range.size : text < range.size;
}

Result<Gist> gist_from(const Json& json, const std::vector<Part>& parts) {
  const Json* key = json.find("key");
  const Json* cost = json.find("cost");
  const Json* briefs = json.find("briefs");
  const bool whole = key != nullptr && key->as_string() != nullptr && cost != nullptr &&
                     number_in(*cost) && briefs != nullptr && briefs->is_array();
  if (!whole) return no_delta("its gist has no key, cost or briefs");
  Gist gist{.key = *key->as_string(), .cost = *number_in(*cost)};
  for (const Json& element : *briefs->as_array()) {
    auto brief = brief_from(element);
    if (!brief) return forward(brief);
    gist.briefs.push_back(*std::move(brief));
  }
  auto brief = gist.briefs.begin();
  for (const Part& part : parts) {
    const auto* range = std::get_if<Range>(&part);
    if (range == nullptr) continue;
    if (brief == gist.briefs.end() || !fits(*brief, *range)) {
      return no_delta("its gist is another one's");
    }
    ++brief;
  }
  return gist;
}

std::string to_json(const Gist& gist) {
  std::string briefs = "[";
  for (const Brief& brief : gist.briefs) {
    if (briefs.size() > 1) briefs += ',';
    briefs += Json(Json::Array{brief.front, brief.tag, brief.back}).text();
  }
  ObjectWriter writer;
  writer.add("key", gist.key);
  writer.add("cost", gist.cost);
  writer.add_raw("briefs", briefs + "]");
  return writer.finish();
}

}  // namespace

bool is_between_characters(std::string_view text, std::size_t at) {
  return at >= text.size() || (static_cast<std::uint8_t>(text[at]) & 0xC0U) != 0x80U;
}

Delta diff(std::string_view base, std::string_view next) {
  return to_delta(find_matches(base, next), next);
}

Delta to_delta(const std::vector<Match>& matches, std::string_view next) {
  Delta delta{.size = next.size()};
  std::size_t done = 0;
  const auto add_text = [&](std::size_t until) {
    if (until > done) delta.parts.emplace_back(std::string(next.substr(done, until - done)));
  };
  for (const Match& found : matches) {
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
  if (delta.gist) writer.add_raw("gist", to_json(*delta.gist));
  return writer.finish();
}

Result<Delta> delta_from_json(std::string_view text) {
  const auto json = parse_json(text);
  if (!json) return no_delta("it is no JSON");
  if (json->find("v") != nullptr) return fail(ErrorCode::unsupported, "a state of a newer version");
  const Json* size = json->find("size");
  const Json* parts = json->find("parts");
  const auto bytes = size != nullptr ? number_in(*size) : std::nullopt;
  if (!bytes || parts == nullptr || !parts->is_array()) return no_delta("no size, or no parts");
  Delta delta{.size = *bytes};
  for (const Json& element : *parts->as_array()) {
    auto part = part_from(element);
    if (!part) return forward(part);
    delta.parts.push_back(*std::move(part));
  }
  if (const Json* gist = json->find("gist")) {
    auto read = gist_from(*gist, delta.parts);
    if (!read) return forward(read);
    delta.gist = *std::move(read);
  }
  return delta;
}

Folding::Folding(std::size_t size) : size_(size), wanted_{{.range = {0, size}}} {}

Result<void> Folding::go_back(const Delta& delta) {
  starts_.clear();
  std::size_t total = 0;
  for (const Part& part : delta.parts) {
    starts_.push_back(total);
    total += size_of(part);
  }
  if (total != delta.size) return no_delta("its parts are not its size");
  before_.clear();
  for (const Wanted& wanted : wanted_) {
    if (!is_within(wanted.range, total)) return no_delta("what follows wants more than there is");
    find(delta, wanted);
  }
  std::swap(wanted_, before_);
  return {};
}

Result<std::string> Folding::finish(std::string_view base) {
  std::vector<std::pair<std::size_t, std::string_view>> pieces;
  for (const Wanted& wanted : wanted_) {
    if (!is_within(wanted.range, base.size())) {
      return no_delta("it wants more of the whole state than there is");
    }
    pieces.emplace_back(wanted.to, base.substr(wanted.range.from, wanted.range.size));
  }
  for (const Found& found : found_) {
    pieces.emplace_back(found.to, std::get<std::string>(found.piece));
  }
  std::ranges::sort(pieces, {}, [](const auto& piece) { return piece.first; });
  std::string made;
  made.reserve(size_);
  for (const auto& [to, text] : pieces) made += text;
  return made;
}

Result<std::optional<KnownText>> Folding::finish_by_gist(const Delta& delta) {
  if (auto gone = go_back(delta); !gone) return forward(gone);
  // What is wanted of the text before lies in the ranges that the delta keeps.
  for (const Wanted& wanted : wanted_) {
    Wanted left = wanted;
    auto brief = delta.gist->briefs.begin();
    for (const Part& part : delta.parts) {
      const auto* range = std::get_if<Range>(&part);
      if (range == nullptr) continue;
      const Brief& known = *brief++;
      const bool begins_here =
          left.range.from >= range->from && left.range.from - range->from < range->size;
      if (!begins_here || left.range.size == 0) continue;
      const std::size_t size =
          std::min(left.range.size, range->from + range->size - left.range.from);
      if (!take_brief(known, *range, {left.to, {left.range.from, size}})) return std::nullopt;
      left = {left.to + size, {left.range.from + size, left.range.size - size}};
    }
    if (left.range.size > 0) return std::nullopt;
  }
  std::ranges::sort(found_, {}, &Found::to);
  KnownText text;
  for (Found& found : found_) {
    auto* more = std::get_if<std::string>(&found.piece);
    auto* last = text.empty() ? nullptr : std::get_if<std::string>(&text.back());
    if (more != nullptr && last != nullptr) {
      *last += *more;
    } else {
      text.push_back(std::move(found.piece));
    }
  }
  return text;
}

// False if only a part of the core is wanted, which the tag tells nothing of.
bool Folding::take_brief(const Brief& brief, Range all, Wanted wanted) {
  const std::size_t begin = wanted.range.from - all.from;
  const std::size_t end = begin + wanted.range.size;
  const std::size_t core_begin = brief.front.size();
  const std::size_t core_end = core_begin + core_size(brief, all.size);
  if (begin < core_begin) {
    add_text(wanted.to, std::string_view(brief.front).substr(begin, end - begin));
  }
  if (end > core_end) {
    const std::size_t from = std::max(begin, core_end);
    add_text(wanted.to + from - begin,
             std::string_view(brief.back).substr(from - core_end, end - from));
  }
  if (core_begin == core_end || end <= core_begin || begin >= core_end) return true;
  if (begin > core_begin || end < core_end) return false;
  found_.push_back({wanted.to + core_begin - begin, Core{core_end - core_begin, brief.tag}});
  return true;
}

void Folding::add_text(std::size_t to, std::string_view text) {
  found_.push_back({to, std::string(text)});
}

void Folding::find(const Delta& delta, Wanted wanted) {
  // The last part that begins there or before.
  auto part = static_cast<std::size_t>(std::ranges::upper_bound(starts_, wanted.range.from) -
                                       starts_.begin());
  while (wanted.range.size > 0) {
    const std::size_t skip = wanted.range.from - starts_[part - 1];
    const std::size_t size = std::min(size_of(delta.parts[part - 1]) - skip, wanted.range.size);
    take(delta.parts[part - 1], wanted.to, {skip, size});
    wanted = {wanted.to + size, {wanted.range.from + size, wanted.range.size - size}};
    ++part;
  }
}

void Folding::take(const Part& part, std::size_t to, Range inside) {
  if (const auto* text = std::get_if<std::string>(&part)) {
    return add_text(to, std::string_view(*text).substr(inside.from, inside.size));
  }
  want(to, {std::get<Range>(part).from + inside.from, inside.size});
}

void Folding::want(std::size_t to, Range range) {
  Wanted* last = before_.empty() ? nullptr : &before_.back();
  const bool goes_on = last != nullptr && last->to + last->range.size == to &&
                       last->range.from + last->range.size == range.from;
  if (goes_on) {
    last->range.size += range.size;
  } else {
    before_.push_back({to, range});
  }
}

}  // namespace perdure::saver
