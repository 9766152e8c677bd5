// Deltas: matches between two texts; making, writing and reading a delta; folding many of them. And
// reading a thread's checkpoints and states.

#include "saver/thread_log.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <fmt/format.h>
#include <iterator>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "core/api/raw_json.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/store.hpp"

namespace perdure::saver {
namespace {

// What two texts have in common, as ranges.
//
// First what they begin and end with: a state whose list grew is done with that. Then, for
// what is left, stretches whose borders are chosen by the text itself, so that text that
// moved has the same borders wherever it is, and each match is widened as far as possible. That
// needs no knowledge of JSON, and finds a nested list or a growing string as well as a list at the
// top.

/// `base.substr(from, size)` is `next.substr(to, size)`.
struct Match {
  std::size_t from = 0;
  std::size_t to = 0;
  std::size_t size = 0;
};

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

// In the order of `next`, not overlapping there. Not every match there is.
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

// Below this a range takes about as many bytes as its text.
constexpr std::size_t range_bytes_min = 24;

bool is_between_characters(std::string_view text, std::size_t at) {
  return at >= text.size() || (static_cast<std::uint8_t>(text[at]) & 0xC0U) != 0x80U;
}

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
  for (const Found& found : found_) pieces.emplace_back(found.to, found.text);
  std::ranges::sort(pieces, {}, [](const auto& piece) { return piece.first; });
  std::string made;
  made.reserve(size_);
  for (const auto& [to, text] : pieces) made += text;
  return made;
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
    found_.push_back({to, text->substr(inside.from, inside.size)});
    return;
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

namespace {

// The store's own rows name people's reasons; this one tells ours from those of a session that is
// not a thread.
constexpr const char* put_reason = "put";

// Few enough that a load works in memory it has used before.
constexpr std::size_t changes_at_once = 32;

std::optional<Row> row_of(const Checkpoint& checkpoint) {
  if (checkpoint.reason != put_reason) return std::nullopt;
  const auto members = split_object(checkpoint.metadata);
  if (!members) return std::nullopt;
  Row row{.id = checkpoint.label, .version = checkpoint.version, .at = checkpoint.at};
  for (const RawMember& member : *members) {
    if (member.key == "metadata")
      row.metadata = RawJson::from_text(std::string(member.value)).value();
    if (member.key == "parent") {
      const Json parent = parse_json(member.value).value();
      if (parent.as_string() != nullptr) row.parent = *parent.as_string();
    }
  }
  return row;
}

std::unexpected<Error> no_state(const SessionId& session, Version version, std::string_view why) {
  return fail(ErrorCode::corrupted,
              fmt::format("the state of thread {} as of version {} cannot be read: {}",
                          session.text(), version, why));
}

}  // namespace

NewCheckpoint to_checkpoint(const Row& row) {
  ObjectWriter writer;
  if (row.parent) writer.add("parent", *row.parent);
  writer.add_raw("metadata", row.metadata.text());
  return {.reason = put_reason, .label = row.id, .metadata = writer.finish()};
}

Result<std::vector<Row>> ThreadLog::query(const CheckpointQuery& query) {
  std::vector<Row> rows;
  auto found = store_.log().checkpoints(session_, query);
  if (!found && found.error().code == ErrorCode::not_found) return rows;
  if (!found) return forward(found);
  for (const Checkpoint& checkpoint : *found) {
    if (auto row = row_of(checkpoint)) rows.push_back(*std::move(row));
  }
  return rows;
}

Result<std::optional<Row>> ThreadLog::latest() {
  auto found = query({.limit = 1});
  if (!found) return forward(found);
  return found->empty() ? std::nullopt : std::optional(std::move(found->front()));
}

Result<std::optional<Row>> ThreadLog::find(const std::string& id) {
  // To the store, no label means any.
  if (id.empty()) return std::nullopt;
  auto found = query({.label = id, .limit = 1});
  if (!found) return forward(found);
  return found->empty() ? std::nullopt : std::optional(std::move(found->front()));
}

Result<std::vector<Row>> ThreadLog::rows(std::optional<Version> before, std::size_t limit) {
  return query({.before = before, .limit = std::min(limit, limit_max)});
}

Result<LoadedState> ThreadLog::load(Version version) {
  const Point as_of = Point::version(version);
  auto whole = store_.log().find_value(session_, "state", as_of);
  if (!whole) return forward(whole);
  if (!*whole) return no_state(session_, version, "no whole state is before it");
  if ((*whole)->condition != Condition::intact) {
    return no_state(session_, version, "the whole state before it is damaged or erased");
  }
  LoadedState loaded;
  std::optional<Folding> folding;
  LogQuery query{.as_of = as_of,
                 .from = (*whole)->position + 1,
                 .channel = "state",
                 .order = Order::newest_first,
                 .limit = changes_at_once};
  for (bool more = true; more;) {
    auto changes = store_.log().read(session_, query);
    if (!changes) return forward(changes);
    for (const Entry& entry : *changes) {
      if (entry.condition != Condition::intact) {
        return no_state(session_, version, "a change before it is damaged or erased");
      }
      auto delta = delta_from_json(entry.body.bytes());
      if (!delta) return forward(delta);
      if (!folding) folding.emplace(delta->size);
      loaded.cost += entry.body.bytes().size() + change_cost;
      if (auto gone = folding->go_back(*delta); !gone) return forward(gone);
      query.to = entry.position - 1;
    }
    more = changes->size() == changes_at_once;
  }
  auto text = folding ? folding->finish((*whole)->body.bytes()) : (*whole)->body.bytes();
  if (!text) return forward(text);
  loaded.text = *std::move(text);
  return loaded;
}

std::optional<Known> Recent::find(const std::string& thread) {
  const std::lock_guard lock(mutex_);
  const auto place = places_.find(thread);
  if (place == places_.end()) return std::nullopt;
  order_.splice(order_.begin(), order_, place->second);
  return place->second->second;
}

void Recent::keep(const std::string& thread, Known known) {
  const std::lock_guard lock(mutex_);
  if (const auto place = places_.find(thread); place != places_.end()) drop(place->second);
  bytes_ += known.text->size();
  order_.emplace_front(thread, std::move(known));
  places_[thread] = order_.begin();
  while (bytes_ > bytes_max_) drop(std::prev(order_.end()));
}

void Recent::forget(const std::string& thread) {
  const std::lock_guard lock(mutex_);
  if (const auto place = places_.find(thread); place != places_.end()) drop(place->second);
}

void Recent::drop(Order::iterator place) {
  bytes_ -= place->second.text->size();
  places_.erase(place->first);
  order_.erase(place);
}

}  // namespace perdure::saver
