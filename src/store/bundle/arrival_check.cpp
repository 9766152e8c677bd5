// Facts come in an order, and so does the check ask for them: each kind is read by a stream of its own,
// which only goes forward. What has to be known out of order is small, and noted in a first reading:
// how many rows there are, which positions there are, and what their entries add up to.

#include <algorithm>
#include <array>
#include <cstdint>
#include <fmt/format.h>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "bundle/bundle_file.hpp"
#include "copy/fact_stream.hpp"
#include "core/api/json_text.hpp"
#include "core/api/text.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/upkeep.hpp"
#include "rules/session_check.hpp"
#include "rules/stored_session.hpp"
#include "store/api/limits.hpp"
#include "store/api/lookup.hpp"
#include "store/api/seam.hpp"
#include "store/api/transfer.hpp"

namespace perdure::bundle {
namespace {

// What a session's log says of its calls, as far as the ledger must agree with it.
//
// The runtime writes these records (runtime/api/records.hpp), and the store reads a
// few of their members here, as the views `tool_calls` do. A log in other words is not judged.
class ToldCalls {
 public:
  /// The entries of the session's own segments, in order.
  void add(const Entry& entry);
  /// Some of its entries were pruned.
  void add_gap() { is_whole_ = false; }

  /// How the log contradicts a call; empty if it does not. Each call once, after all entries.
  [[nodiscard]] std::string find_contradiction(const Call& call);
  /// After all calls: an intent or a result that belongs to none of them; empty if there is none.
  [[nodiscard]] std::string find_without_call() const;

 private:
  struct Told {
    Json intent{};
    std::int64_t attempts = 0;
    bool is_doubted = false;   ///< Since the last attempt.
    bool is_resolved = false;  ///< Without an attempt: a bundle's claim was accepted, or not.
    bool is_row_there = false;
    std::optional<CallState> ending{};
    std::set<Position> results{};
  };

  void add_record(const Entry& entry, const Json& record);
  void add_message(Position position, const Json& message);
  [[nodiscard]] std::string find_other_words(const Call& call, const Told& told) const;
  [[nodiscard]] std::string find_other_state(const Call& call, const Told& told) const;
  [[nodiscard]] std::string find_other_attempts(const Call& call, const Told& told) const;
  [[nodiscard]] std::string find_other_issue(const Call& call);
  [[nodiscard]] bool is_readable(Position position) const;

  std::map<Position, Told> calls_{};
  std::vector<Position> readable_{};
  bool is_whole_ = true;
  bool has_origin_ = false;
  // Of a checkpointer (adapters/checkpointer.hpp): its results do not name their calls.
  std::set<Position> issued_{};
  std::map<Position, CallState> endings_{};
  std::optional<Position> first_open_{};
};

// Where an entry is pruned, erased or damaged there may be nothing to compare: then only what is there
// and says otherwise counts, and nothing that is missing.

constexpr std::string_view book_channel = "tool_calls";

std::uint64_t number_in(const Json& record, std::string_view key) {
  const Json* const value = record.find(key);
  return value == nullptr ? 0 : value->as_uint64().value_or(0);
}

// Bytes that no JSON string can hold are there as base64 too.
std::string bytes_in(const Json& record, const std::string& key) {
  for (const auto& [name, is_exact] : {std::pair{key + "_base64", true}, std::pair{key, false}}) {
    const Json* const value = record.find(name);
    const std::string* const text = value == nullptr ? nullptr : value->as_string();
    if (text == nullptr) continue;
    if (!is_exact) return *text;
    if (auto bytes = from_base64(*text)) return *std::move(bytes);
  }
  return {};
}

bool is_final(CallState state) {
  return state != CallState::intended && state != CallState::dispatched &&
         state != CallState::in_doubt;
}

// A record of a newer version may mean anything.
bool is_known(const Json& record) {
  const Json* const version = record.find("v");
  return record.is_object() && (version == nullptr || version->as_uint64() == 1);
}

std::optional<CallState> book_state(std::string_view kind) {
  constexpr std::array endings = {
      std::pair{std::string_view("result"), CallState::succeeded},
      std::pair{std::string_view("error"), CallState::succeeded},
      std::pair{std::string_view("failed"), CallState::failed},
      std::pair{std::string_view("doubt"), CallState::in_doubt},
  };
  const auto* const found = std::ranges::find(endings, kind, &decltype(endings)::value_type::first);
  return found == endings.end() ? std::nullopt : std::optional(found->second);
}

void ToldCalls::add(const Entry& entry) {
  if (entry.condition != Condition::intact) {
    is_whole_ = false;
    return;
  }
  const bool is_message = entry.channel == "transcript" && entry.kind == "message";
  const bool is_record = entry.channel == "calls" || is_message;
  if (is_record && entry.body.codec() == Codec::blob) {
    // What a large message says is not read here.
    if (!is_message) is_whole_ = false;
    return;
  }
  if (is_record) {
    // A made-up text of many values would take many times its size.
    const auto record = parse_foreign_json(entry.body.bytes());
    if (record ? !is_known(*record) : has_too_many_values(entry.body.bytes())) {
      is_whole_ = false;
      return;
    }
    if (record && is_message) add_message(entry.position, *record);
    if (record && !is_message) add_record(entry, *record);
  }
  readable_.push_back(entry.position);
  if (entry.channel == "origin") has_origin_ = true;
  if (entry.channel != book_channel) return;
  if (entry.kind == "issued") issued_.insert(entry.position);
  if (const auto state = book_state(entry.kind)) endings_.emplace(entry.position, *state);
}

void ToldCalls::add_record(const Entry& entry, const Json& record) {
  if (entry.kind == "intent" && record.find("tool") != nullptr) {
    calls_[entry.position].intent = record;
    return;
  }
  const auto call = calls_.find(number_in(record, "call"));
  if (call == calls_.end()) return;
  Told& told = call->second;
  if (entry.kind == "attempt") {
    told.attempts = std::max(told.attempts, static_cast<std::int64_t>(number_in(record, "number")));
    told.is_doubted = false;
  }
  if (entry.kind == "doubt") told.is_doubted = true;
  if (entry.kind == "resolution" && told.attempts == 0) told.is_resolved = true;
}

void ToldCalls::add_message(Position position, const Json& message) {
  const Json* const partial = message.find("partial");
  const Json* const blocks = message.find("blocks");
  if (blocks == nullptr || blocks->as_array() == nullptr) return;
  if (partial != nullptr && partial->as_bool() == true) return;
  for (const Json& block : *blocks->as_array()) {
    if (bytes_in(block, "kind") != "tool_result") continue;
    const auto call = calls_.find(number_in(block, "call"));
    const auto state = call_state_from(bytes_in(block, "outcome"));
    if (call == calls_.end() || !state || !is_final(*state)) continue;
    call->second.ending = state;
    call->second.results.insert(position);
  }
}

std::string ToldCalls::find_contradiction(const Call& call) {
  if (!is_readable(call.position)) return {};
  const auto found = calls_.find(call.position);
  if (found == calls_.end()) {
    if (issued_.contains(call.position)) return find_other_issue(call);
    return has_origin_ ? "has another entry where its intent should be" : "";
  }
  Told& told = found->second;
  if (std::exchange(told.is_row_there, true)) return "is there twice";
  for (const auto find : {&ToldCalls::find_other_words, &ToldCalls::find_other_state,
                          &ToldCalls::find_other_attempts}) {
    if (auto other = (this->*find)(call, told); !other.empty()) return other;
  }
  return {};
}

std::string ToldCalls::find_without_call() const {
  for (const auto& [position, told] : calls_) {
    if (!told.is_row_there) {
      return fmt::format("its log intends a call at position {}, which its ledger does not have",
                         position);
    }
  }
  const auto ended = std::ranges::find(endings_, CallState::succeeded,
                                       [](const auto& ending) { return ending.second; });
  if (!first_open_ || ended == endings_.end() || ended->first < *first_open_) return {};
  return fmt::format("its log has the result of a call at position {}, and call {} is open",
                     ended->first, *first_open_);
}

std::string ToldCalls::find_other_words(const Call& call, const Told& told) const {
  // The ledger spells a name otherwise that has what no row takes.
  const std::string tool = bytes_in(told.intent, "tool");
  if (check_name("tool name", tool, name_bytes_max) && tool != call.tool) {
    return fmt::format("is of the tool {}, and its intent is of {}", call.tool, tool);
  }
  if (bytes_in(told.intent, "provider_id").substr(0, text_bytes_max) != call.provider_id) {
    return "has another provider's id than its intent";
  }
  const Position message = number_in(told.intent, "message");
  if (message == call.args) return {};
  return fmt::format("has its arguments at position {}, and its intent says {}", call.args,
                     message);
}

std::string ToldCalls::find_other_state(const Call& call, const Told& told) const {
  const std::string_view state = to_string(call.state);
  if (told.ending && *told.ending != call.state) {
    return fmt::format("is {}, and its result in the log says {}", state, to_string(*told.ending));
  }
  if (is_final(call.state) && !call.result) return fmt::format("is {} without a result", state);
  if (call.result && is_readable(*call.result) && !told.results.contains(*call.result)) {
    return fmt::format("has its result at position {}, where another entry is", *call.result);
  }
  return {};
}

std::string ToldCalls::find_other_attempts(const Call& call, const Told& told) const {
  const bool is_accepted = told.is_resolved && told.attempts == 0 && call.attempts == 1;
  const bool are_all_told = call.attempts == told.attempts || is_accepted;
  if (call.attempts < told.attempts || (is_whole_ && !are_all_told)) {
    return fmt::format("has {} attempts, and its log has {}", call.attempts, told.attempts);
  }
  const bool is_open = call.state == CallState::dispatched || call.state == CallState::in_doubt;
  if (!is_whole_ || !is_open || told.is_doubted == (call.state == CallState::in_doubt)) return {};
  return fmt::format("is {}, and its log says that it is {}", to_string(call.state),
                     told.is_doubted ? "in doubt" : "under way");
}

std::string ToldCalls::find_other_issue(const Call& call) {
  if (call.args != call.position) {
    return fmt::format("has its arguments at position {}, and was issued with them", call.args);
  }
  const bool is_ended = call.state == CallState::succeeded || call.state == CallState::failed;
  if (!is_final(call.state) && !first_open_) first_open_ = call.position;
  if (!call.result) {
    return is_ended ? fmt::format("is {} without a result", to_string(call.state)) : "";
  }
  if (!is_readable(*call.result)) return {};
  const auto ending = endings_.extract(*call.result);
  if (ending && ending.mapped() == call.state) return {};
  return fmt::format(
      "is {}, and its log has another entry at position {}, where its result "
      "should be",
      to_string(call.state), *call.result);
}

bool ToldCalls::is_readable(Position position) const {
  return std::ranges::binary_search(readable_, position);
}

using copy::FactStream;
using rules::Part;
using rules::Place;
using rules::Stretch;

/// Positions of a segment that are there, and the totals up to each that adds something.
struct Entries {
  std::vector<Position> positions{};
  std::vector<std::pair<Position, Tally>> totals{};
  bool is_possible = true;

  void add(const Entry& entry) {
    positions.push_back(entry.position);
    if (!rules::is_possible(entry.tally)) is_possible = false;
    if (!is_possible || entry.tally == Tally{}) return;
    Tally total = totals.empty() ? Tally{} : totals.back().second;
    total += entry.tally;
    totals.emplace_back(entry.position, total);
  }
  [[nodiscard]] std::uint64_t count_to(Position last) const {
    return static_cast<std::uint64_t>(std::ranges::upper_bound(positions, last) -
                                      positions.begin());
  }
  [[nodiscard]] bool contains(Position position) const {
    return std::ranges::binary_search(positions, position);
  }
  [[nodiscard]] Tally tally_to(Position last) const {
    const auto behind =
        std::ranges::upper_bound(totals, last, {}, &std::pair<Position, Tally>::first);
    return behind == totals.begin() ? Tally{} : std::prev(behind)->second;
  }
};

struct Segment {
  SegmentFact fact{};
  std::vector<PrunedFact> pruned{};
  Entries entries{};
};

/// What the budget of a session's log says was spent in all. In a segment it never falls, and rises by what
/// is paid.
class Spent {
 public:
  void add(const Entry& entry) {
    if (entry.channel != "budget" || entry.condition != Condition::intact ||
        entry.body.codec() != Codec::json) {
      return;
    }
    const auto change = parse_foreign_json(entry.body.bytes());
    const Json* const after = change ? change->find("after") : nullptr;
    const auto spent = after != nullptr ? number_in(*after, "spent") : std::nullopt;
    if (!spent) return;
    std::int64_t& before = by_segment_[entry.segment];
    const std::int64_t paid = entry.kind == "spend" ? number_in(*change, "micros").value_or(0) : 0;
    if (paid < 0 || paid > *spent || *spent - paid < before)
      wrong_ = wrong_ == 0 ? entry.position : wrong_;
    before = *spent;
  }
  /// Where it contradicts itself first; 0: nowhere.
  [[nodiscard]] Position wrong() const { return wrong_; }

 private:
  static std::optional<std::int64_t> number_in(const Json& object, std::string_view key) {
    const Json* const number = object.find(key);
    return number != nullptr ? number->as_int64() : std::nullopt;
  }

  std::map<SegmentId, std::int64_t> by_segment_{};
  Position wrong_ = 0;
};

struct Owner {
  SessionFact::Row row{};
  std::vector<Part> segments{};
  std::uint64_t checkpoints = 0;
  std::uint64_t calls = 0;
  ToldCalls told{};
  Spent spent{};
  std::string contradiction{};  ///< The first one between a call and the log.
};

/// What was noted in the first reading.
struct Notes {
  std::map<OwnerNumber, Owner> owners{};  ///< That have a row.
  std::map<SegmentId, Segment> segments{};

  void add(const Fact& fact) {
    if (const auto* session = std::get_if<SessionFact>(&fact); session != nullptr && session->row) {
      owners[session->owner].row = *session->row;
    } else if (const auto* segment = std::get_if<SegmentFact>(&fact)) {
      add(*segment);
    } else if (const auto* pruned = std::get_if<PrunedFact>(&fact)) {
      segments[pruned->segment].pruned.push_back(*pruned);
      if (Owner* owner = owner_of(pruned->segment)) owner->told.add_gap();
    } else if (const auto* entry = std::get_if<Entry>(&fact)) {
      segments[entry->segment].entries.add(*entry);
      if (Owner* owner = owner_of(entry->segment)) {
        owner->told.add(*entry);
        owner->spent.add(*entry);
      }
    } else if (const auto* checkpoint = std::get_if<CheckpointFact>(&fact)) {
      ++owners[checkpoint->owner].checkpoints;
    } else if (const auto* call = std::get_if<CallFact>(&fact)) {
      add(*call);
    }
  }

  // The parts of the line to a place, the last one first.
  [[nodiscard]] std::vector<Stretch> line_to(Place place) const {
    std::vector<Stretch> parts;
    std::optional<SegmentId> segment = place.segment;
    Position last = place.position;
    while (segment) {
      const auto found = segments.find(*segment);
      if (found == segments.end()) break;
      const SegmentFact& fact = found->second.fact;
      parts.push_back({*segment, fact.first, last});
      last = fact.parent_position;
      // A store gives a parent its number first, so this has an end.
      segment = fact.parent && *fact.parent < *segment ? fact.parent : std::nullopt;
    }
    return parts;
  }

  [[nodiscard]] bool is_accounted_for(SegmentId number, Position position) const {
    const auto found = segments.find(number);
    if (found == segments.end()) return false;
    const auto covers = [&](const PrunedFact& pruned) {
      return pruned.first <= position && position < pruned.upto;
    };
    return found->second.entries.contains(position) ||
           std::ranges::any_of(found->second.pruned, covers);
  }

 private:
  // Null for what a removed session left.
  Owner* owner_of(SegmentId segment) {
    const auto owner = owners.find(segments[segment].fact.owner);
    return owner == owners.end() ? nullptr : &owner->second;
  }

  void add(const CallFact& fact) {
    Owner& owner = owners[fact.owner];
    ++owner.calls;
    if (!owner.contradiction.empty()) return;
    const auto what = owner.told.find_contradiction(fact.call);
    if (what.empty()) return;
    owner.contradiction =
        fmt::format("call {} {}", call_name(fact.call.session, fact.call.position), what);
  }

  void add(const SegmentFact& fact) {
    segments[fact.segment].fact = fact;
    const auto owner = owners.find(fact.owner);
    if (owner == owners.end()) return;
    owner->second.segments.push_back({.segment = fact.segment,
                                      .session = static_cast<std::int64_t>(fact.owner),
                                      .first = fact.first,
                                      .last = rules::position_max,
                                      .parent = fact.parent,
                                      .parent_position = fact.parent_position});
  }
};

/// The facts of one kind, by owner, each read once.
template <class OneFact>
class Ordered {
 public:
  Ordered(Store& store, const FactSource& source, FactKind kind, std::optional<Error>& failed)
      : facts_(store.transfer(), source, {.kind = kind, .group = 0, .number = 0, .name = {}}),
        failed_(failed) {}

  /// The next one; null behind the last, and once the store failed.
  [[nodiscard]] const OneFact* peek() {
    if (has_next_) return next_;
    has_next_ = true;
    next_ = nullptr;
    if (failed_) return nullptr;
    auto fact = facts_.next();
    if (!fact) {
      failed_ = fact.error();
    } else if (*fact != nullptr) {
      next_ = std::get_if<OneFact>(*fact);
    }
    return next_;
  }
  void skip() {
    // Behind the last of this kind are others: nothing more is read.
    if (next_ != nullptr) has_next_ = false;
  }

 private:
  FactStream facts_;
  std::optional<Error>& failed_;
  bool has_next_ = false;
  const OneFact* next_ = nullptr;
};

/// All sessions' facts, as the check of one session after the other asks for them.
struct Streams {
  Streams(Store& store, const FactSource& source)
      : entries(store, source, FactKind::entry, failed),
        receipts(store, source, FactKind::receipt, failed),
        checkpoints(store, source, FactKind::checkpoint, failed),
        calls(store, source, FactKind::call, failed) {}

  std::optional<Error> failed{};
  Ordered<Entry> entries;
  Ordered<ReceiptFact> receipts;
  Ordered<CheckpointFact> checkpoints;
  Ordered<CallFact> calls;
};

class ArrivedSession final : public rules::StoredSession {
 public:
  ArrivedSession(Store& store, const Notes& notes, Streams& streams, OwnerNumber owner)
      : store_(store), notes_(notes), streams_(streams), owner_(owner) {}

  void commits(const std::function<bool(const ReceiptFact&)>& visit) override {
    for (const ReceiptFact* fact = streams_.receipts.peek();
         fact != nullptr && fact->owner <= owner_; fact = streams_.receipts.peek()) {
      const ReceiptFact commit = *fact;
      streams_.receipts.skip();
      if (commit.owner == owner_ && !visit(commit)) return;
    }
  }

  void entries(const Stretch& stretch, const rules::EntryVisitor& visit) override {
    Position next = stretch.first;
    for (const Entry* entry = streams_.entries.peek(); entry != nullptr;
         entry = streams_.entries.peek()) {
      const OwnerNumber owner = owner_of(*entry);
      if (owner > owner_ || (owner == owner_ && entry->position > stretch.last)) break;
      if (owner == owner_ && entry->segment == stretch.segment && entry->position >= next) {
        if (entry->position > next) visit.missing(next, entry->position - 1);
        next = entry->position + 1;
        visit.entry(Entry(*entry));
      }
      streams_.entries.skip();
    }
    if (next <= stretch.last) visit.missing(next, stretch.last);
  }

  std::vector<Stretch> not_pruned(const Stretch& stretch) override {
    std::vector<std::pair<Position, Position>> pruned;
    const auto segment = notes_.segments.find(stretch.segment);
    if (segment == notes_.segments.end()) return {stretch};
    for (const PrunedFact& one : segment->second.pruned) pruned.emplace_back(one.first, one.upto);
    return rules::without_pruned(stretch, pruned);
  }

  std::optional<CheckpointFact> checkpoint(Version version) override {
    for (const CheckpointFact* fact = streams_.checkpoints.peek(); fact != nullptr;
         fact = streams_.checkpoints.peek()) {
      const Checkpoint& found = fact->checkpoint;
      if (fact->owner > owner_ || (fact->owner == owner_ && found.version > version)) break;
      if (fact->owner == owner_ && found.version == version) return *fact;
      streams_.checkpoints.skip();
    }
    return std::nullopt;
  }

  void calls(const ReceiptFact& commit,
             const std::function<void(const rules::StoredCall&)>& visit) override {
    for (const CallFact* fact = streams_.calls.peek(); fact != nullptr;
         fact = streams_.calls.peek()) {
      const Call& call = fact->call;
      if (fact->owner > owner_ || (fact->owner == owner_ && call.position > rules::last_of(commit)))
        break;
      if (fact->owner == owner_ && call.position >= commit.receipt.first) {
        visit({.call = call,
               .segment = fact->segment,
               .has_intent = notes_.is_accounted_for(commit.segment, call.position),
               .has_args = is_on_line({commit.segment, rules::last_of(commit)}, call.args),
               .has_result = !call.result || is_result_there(call)});
      }
      streams_.calls.skip();
    }
  }

  std::uint64_t count(rules::RowKind kind, SegmentId segment) override {
    const Owner& owner = notes_.owners.at(owner_);
    switch (kind) {
      case rules::RowKind::entries:
        return notes_.segments.at(segment).entries.positions.size();
      case rules::RowKind::checkpoints:
        return owner.checkpoints;
      case rules::RowKind::calls:
        return owner.calls;
    }
    return 0;
  }

  std::optional<Tally> count_tally(Place place) override {
    Tally tally;
    for (const Stretch& part : notes_.line_to(place)) {
      if (part.last < part.first) continue;
      const Segment& segment = notes_.segments.at(part.segment);
      if (!segment.entries.is_possible) return std::nullopt;
      std::uint64_t entries = segment.entries.count_to(part.last);
      tally += segment.entries.tally_to(part.last);
      for (const PrunedFact& pruned : segment.pruned) {
        if (pruned.upto > part.last) continue;
        tally += pruned.tally;
        entries += pruned.entries;
      }
      if (entries != part.last - part.first + 1) return std::nullopt;
    }
    return tally;
  }

  bool has_blob(const Body& body) override {
    const auto ref = body.blob();
    if (!ref) return body.codec() != Codec::blob;
    auto there = perdure::has_blob(store_.blobs(), *ref);
    if (!there) streams_.failed = there.error();
    return there.value_or(true);
  }

 private:
  [[nodiscard]] OwnerNumber owner_of(const Entry& entry) const {
    return notes_.segments.at(entry.segment).fact.owner;
  }

  [[nodiscard]] bool is_on_line(Place place, Position position) const {
    const auto parts = notes_.line_to(place);
    const auto part = std::ranges::find_if(parts, [position](const Stretch& candidate) {
      return position >= candidate.first && position <= candidate.last;
    });
    return part != parts.end() && notes_.is_accounted_for(part->segment, position);
  }

  // An entry of the session's own, on whichever line was active then; or one that it shares.
  [[nodiscard]] bool is_result_there(const Call& call) const {
    const auto& segments = notes_.owners.at(owner_).segments;
    const auto own =
        std::ranges::find_if(segments.rbegin(), segments.rend(),
                             [&](const Part& part) { return part.first <= *call.result; });
    if (own == segments.rend()) return *call.result < call.position;
    return notes_.is_accounted_for(own->segment, *call.result);
  }

  Store& store_;
  const Notes& notes_;
  Streams& streams_;
  OwnerNumber owner_;
};

class ArrivalRun final : public rules::CheckRun {
 public:
  using CheckRun::CheckRun;
  void guard(const std::optional<SessionId>& /*session*/, std::string_view /*what*/,
             const std::function<void()>& work) override {
    work();
  }
};

Result<bool> take_notes(Store& store, const Arrival& arrival, const std::function<bool()>& go_on,
                        Notes& notes) {
  FactStream facts(store.transfer(), FactSource{.owners = {}, .arrival = arrival});
  while (true) {
    if (facts.is_slice_done() && !go_on()) return false;
    auto fact = facts.next();
    if (!fact) return forward(fact);
    if (*fact == nullptr) return true;
    notes.add(**fact);
  }
}

void check_segments(ArrivalRun& run, const Notes& notes, const Owner& owner) {
  std::vector<Part> before;
  for (const Part& part : owner.segments) {
    rules::check_segment(run, owner.row.summary.id, before, part,
                         part.parent && notes.segments.contains(*part.parent));
  }
  if (owner.segments.empty()) {
    run.found.add(Fault::reference, owner.row.summary.id, "the session has no segment");
  }
}

rules::StoredSummary summary_of(OwnerNumber number, const SessionFact::Row& row) {
  const SessionSummary& session = row.summary;
  return {.number = static_cast<std::int64_t>(number),
          .id = session.id,
          .segment = row.segment,
          .head = session.head,
          .next = session.next,
          .version = session.version,
          .commits = row.commits,
          .chain = row.chain,
          .tally = session.tally,
          .attention = session.attention};
}

}  // namespace

Result<bool> check_arrival(Store& store, const Arrival& arrival,
                           const std::function<bool()>& go_on) {
  Notes notes;
  auto noted = take_notes(store, arrival, go_on, notes);
  if (!noted || !*noted) return noted;
  Streams streams(store, FactSource{.owners = {}, .arrival = arrival});
  const Progress progress = [&go_on](const Step&) { return go_on(); };
  ArrivalRun run(progress);
  for (const auto& [number, owner] : notes.owners) {
    if (!run.go_on()) return false;
    check_segments(run, notes, owner);
    ArrivedSession rows(store, notes, streams, number);
    const rules::StoredSummary summary = summary_of(number, owner.row);
    rules::check_history(run, rows, summary, owner.segments);
    if (streams.failed) return std::unexpected(*std::move(streams.failed));
    if (!run.report().is_complete) return false;
    std::string what = owner.contradiction;
    if (what.empty()) what = owner.told.find_without_call();
    if (const Position wrong = owner.spent.wrong(); what.empty() && wrong != 0) {
      what = fmt::format("what its budget says was spent, at position {}, is less than was paid",
                         wrong);
    }
    if (!run.report().damage.empty()) what = run.report().damage.front().what;
    if (what.empty()) continue;
    return fail(
        ErrorCode::corrupted,
        fmt::format("session {} of the bundle contradicts itself: {}", summary.id.text(), what),
        summary.id.text());
  }
  return true;
}

}  // namespace perdure::bundle
