// What forks share of a removed session, then a session with its receipts.

#include "rules/session_check.hpp"

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/upkeep.hpp"
#include "rules/chain.hpp"
#include "rules/stored_session.hpp"
#include "store/api/limits.hpp"
#include "store/api/lookup.hpp"
#include "store/api/transfer.hpp"

namespace perdure::rules {

// As session_check.cpp looks at entries, without what receipts would say of them.

namespace {

class SharedCheck {
 public:
  SharedCheck(CheckRun& run, StoredSession& rows, const SharedPart& part)
      : run_(run), rows_(rows), part_(part) {}

  void check() {
    rows_.entries(part_.stretch,
                  {.entry = [&](Entry&& entry) { check_entry(entry); },
                   .missing = [&](Position first, Position last) { check_missing(first, last); }});
  }

 private:
  void check_entry(const Entry& entry) {
    ++run_.report().entries;
    run_.report().bytes += entry.body.bytes().size();
    const Stretch here{entry.segment, entry.position, entry.position};
    if (is_lost(entry)) return add(Fault::chain, here, "was lost before a salvage");
    if (entry.condition == Condition::damaged) {
      return add(Fault::chain, here, "has a body that does not match its hash");
    }
    if (entry.condition != Condition::intact || entry.body.codec() != Codec::blob) return;
    run_.guard(part_.heir, "a blob", [&] {
      if (!rows_.has_blob(entry.body)) {
        add(Fault::reference, here, "names a blob that is not there");
      }
    });
  }

  void check_missing(Position first, Position last) {
    run_.guard(part_.heir, "what was pruned", [&] {
      for (const Stretch& left : rows_.not_pruned({part_.stretch.segment, first, last})) {
        add(Fault::order, left, left.first == left.last ? "is missing" : "are missing");
      }
    });
  }

  void add(Fault fault, const Stretch& stretch, std::string_view what) {
    run_.found.add(
        {.fault = fault,
         .session = part_.heir,
         .first = stretch.first,
         .last = stretch.last,
         .what = fmt::format("{} of segment {}, which forks of a removed session share, {}",
                             positions_text(stretch.first, stretch.last), stretch.segment, what)});
  }

  CheckRun& run_;
  StoredSession& rows_;
  const SharedPart& part_;
};

}  // namespace

void check_shared(CheckRun& run, StoredSession& rows, const SharedPart& part) {
  SharedCheck(run, rows, part).check();
}

// One session: its commits in order, each with the entries it put there, against the
// hash chain; then everything that follows from them against what its row says.
//
// Positions rise with the commits, whichever segment takes them, so going through the
// commits goes through all entries once. What is unknown after damage (a chain value,
// a total) is taken from the next place that states it, so that one damage is one
// finding and not a finding for every commit after it.

namespace {

std::string find_fault(const ReceiptFact& commit, const StoredCall& stored) {
  const Call& call = stored.call;
  if (!stored.has_known_words) return "has a state, an effect class or a key that no call has";
  if (const auto why = find_contradiction(call); !why.empty()) return "cannot be: " + why;
  if (stored.segment != commit.segment) {
    return fmt::format("says segment {}, and its intent is on segment {}", stored.segment,
                       commit.segment);
  }
  if (call.intended_at != commit.receipt.at) return "was not intended when its commit was made";
  return {};
}

std::string find_missing(const StoredCall& stored) {
  const Call& call = stored.call;
  if (!stored.has_intent) return "has no intent in the log";
  if (!stored.has_args) {
    return fmt::format("has its arguments at position {}, where no entry is", call.args);
  }
  if (!stored.has_result) {
    return fmt::format("has its result at position {}, where no entry is", call.result.value_or(0));
  }
  return {};
}

class SessionCheck {
 public:
  SessionCheck(CheckRun& run, StoredSession& rows, const StoredSummary& session,
               const std::vector<Part>& segments)
      : run_(run), rows_(rows), session_(session), chain_(chain_start(session.id)) {
    for (const Part& part : segments) segments_.emplace(part.segment, part);
    if (segments.empty()) return;
    const Part& root = segments.front();
    at_.segment = root.segment;
    at_.position = root.parent_position;
    next_ = root.first;
    tally_ = tally_of_segment(root);
  }

  void check() {
    run_.guard(session_.id, "the session's receipts", [&] { check_commits(); });
    run_.guard(session_.id, "the session's entries", [&] { check_strays(); });
    run_.guard(session_.id, "the session's checkpoints", [&] { check_checkpoint_count(); });
    run_.guard(session_.id, "the session's calls", [&] { check_call_count(); });
    run_.guard(session_.id, "the session's row", [&] { check_summary(); });
  }

 private:
  void check_commits() {
    bool is_stopped = false;
    rows_.commits([&](const ReceiptFact& commit) {
      is_stopped = commit.number % 256 == 0 && !run_.go_on();
      if (is_stopped) return false;
      ++run_.report().commits;
      check_commit(commit);
      return true;
    });
    receipts_read_ = !is_stopped;
  }

  void check_commit(const ReceiptFact& commit) {
    check_number(commit);
    if (!check_place(commit)) return forget_all(commit);
    if (commit.segment != at_.segment) enter(segments_.at(commit.segment));
    check_first(commit);
    const auto seal = read_entries(commit);
    if (seal && is_chain_known_ &&
        chain_next(chain_, *seal, at_.position, commit.receipt.first) != commit.receipt.chain) {
      add(Fault::chain, commit,
          fmt::format("commit {} (batch {}) does not match the hash chain: something of it was "
                      "changed",
                      commit.number, commit.receipt.batch.text()));
    }
    chain_ = commit.receipt.chain;
    is_chain_known_ = true;
    const Position head = commit.receipt.count == 0 ? at_.position : last_of(commit);
    if (commit.receipt.head != head) {
      add(Fault::order, commit,
          fmt::format("commit {} says its head is {}, and it is {}", commit.number,
                      commit.receipt.head, head));
    }
    at_.position = head;
    next_ = commit.receipt.first + commit.receipt.count;
    if (commit.receipt.version) check_version(commit);
    if (commit.receipt.count > 0) check_calls(commit);
  }

  void check_number(const ReceiptFact& commit) {
    const std::uint64_t expected = number_ + 1;
    number_ = commit.number;
    times_.insert(commit.receipt.at);
    if (commit.number == expected) return;
    is_chain_known_ = false;
    is_next_known_ = false;
    tally_.reset();
    run_.found.add(
        Fault::chain, session_.id,
        fmt::format("the receipts of commits {} to {} are missing", expected, commit.number - 1));
  }

  // Whether the receipt can be followed at all.
  bool check_place(const ReceiptFact& commit) {
    if (!segments_.contains(commit.segment)) {
      add(Fault::reference, commit,
          fmt::format("commit {} is on segment {}, which the session does not have", commit.number,
                      commit.segment));
      return false;
    }
    if (commit.receipt.count > batch_entries_max || commit.receipt.first > position_max ||
        commit.receipt.first == 0) {
      add(Fault::order, commit,
          fmt::format("commit {} says it has {} entries from position {} on", commit.number,
                      commit.receipt.count, commit.receipt.first));
      return false;
    }
    return true;
  }

  void forget_all(const ReceiptFact& commit) {
    chain_ = commit.receipt.chain;
    is_chain_known_ = false;
    is_next_known_ = false;
    tally_.reset();
  }

  void enter(const Part& part) {
    at_ = {part.segment, part.parent_position};
    tally_ = tally_of_segment(part);
  }

  void check_first(const ReceiptFact& commit) {
    if (is_next_known_ && commit.receipt.first != next_) {
      add(Fault::order, commit,
          fmt::format("commit {} begins at position {}, and should at {}", commit.number,
                      commit.receipt.first, next_));
      is_chain_known_ = false;
    }
    is_next_known_ = true;
  }

  // The seal of the commit; empty if not all of its entries are there.
  std::optional<Digest> read_entries(const ReceiptFact& commit) {
    StoredSeal seal(commit.receipt.batch, commit.receipt.at, commit.receipt.count);
    bool is_whole = true;
    if (commit.receipt.count == 0) return seal.finish();
    rows_.entries({commit.segment, commit.receipt.first, last_of(commit)},
                  {.entry =
                       [&](Entry&& entry) {
                         seal.add(entry);
                         if (!check_entry(entry)) is_whole = false;
                       },
                   .missing =
                       [&](Position first, Position last) {
                         is_whole = false;
                         check_missing({commit.segment, first, last});
                       }});
    if (!is_whole) return std::nullopt;
    return seal.finish();
  }

  // False if the entry is lost: then the chain says nothing of it.
  bool check_entry(const Entry& entry) {
    ++run_.report().entries;
    ++entries_[entry.segment];
    run_.report().bytes += entry.body.bytes().size();
    const Stretch here{entry.segment, entry.position, entry.position};
    if (is_lost(entry)) {
      tally_.reset();
      add(Fault::chain, here, "was lost before a salvage");
      return false;
    }
    if (entry.condition == Condition::damaged) {
      add(Fault::chain, here, "has a body that does not match its hash");
    }
    if (tally_) *tally_ += entry.tally;
    if (entry.condition == Condition::intact && entry.body.codec() == Codec::blob) {
      run_.guard(session_.id, "a blob", [&] {
        if (!rows_.has_blob(entry.body)) {
          add(Fault::reference, here, "names a blob that is not there");
        }
      });
    }
    return true;
  }

  void check_missing(const Stretch& stretch) {
    run_.guard(session_.id, "what was pruned", [&] {
      for (const Stretch& left : rows_.not_pruned(stretch)) {
        add(Fault::order, left, left.first == left.last ? "is missing" : "are missing");
      }
    });
    // Counting restarts at the next version: a pruned stretch counts from its end on.
    tally_.reset();
  }

  void check_version(const ReceiptFact& commit) {
    if (*commit.receipt.version != version_ + 1 && is_next_known_ && version_known_) {
      add(Fault::order, commit,
          fmt::format("version {} was made after version {}", *commit.receipt.version, version_));
    }
    version_ = *commit.receipt.version;
    version_known_ = true;
    run_.guard(session_.id, fmt::format("version {}", version_), [&] { check_checkpoint(commit); });
  }

  // A version that is not there was pruned: its name is gone without a trace.
  void check_checkpoint(const ReceiptFact& commit) {
    const auto there = rows_.checkpoint(*commit.receipt.version);
    if (!there) return;
    ++checkpoints_;
    if (there->segment != commit.segment || there->checkpoint.position != at_.position ||
        there->checkpoint.at != commit.receipt.at) {
      add(Fault::order, commit,
          fmt::format("version {} names position {} of segment {}, and its commit says {} of {}",
                      version_, there->checkpoint.position, there->segment, at_.position,
                      commit.segment));
    }
    if (!is_json(there->checkpoint.metadata)) {
      add(Fault::summary, commit, fmt::format("the metadata of version {} is not JSON", version_));
    }
    if (!tally_) tally_ = rows_.count_tally(at_);
    if (tally_ && *tally_ != there->checkpoint.tally) {
      add(Fault::summary, commit,
          fmt::format("the totals of version {} are not those of its entries", version_));
    }
  }

  void check_calls(const ReceiptFact& commit) {
    rows_.calls(commit, [&](const StoredCall& stored) {
      ++calls_;
      ++run_.report().calls;
      if (stored.call.state == CallState::in_doubt) ++in_doubt_;
      add(Fault::ledger, stored.call, find_fault(commit, stored));
      add(Fault::reference, stored.call, find_missing(stored));
      for (const auto& at : {stored.call.dispatched_at, stored.call.settled_at}) {
        if (at) moves_.push_back({stored.call.position, *at});
      }
    });
  }

  // Entries that no commit put there.
  void check_strays() {
    if (!run_.report().is_complete || !receipts_read_) return;
    for (const auto& [segment, part] : segments_) {
      const std::uint64_t there = rows_.count(RowKind::entries, segment);
      if (there <= entries_[segment]) continue;
      run_.found.add(Fault::order, session_.id,
                     fmt::format("segment {} has {} entries, and commits put {} there", segment,
                                 there, entries_[segment]));
    }
  }

  void check_checkpoint_count() {
    check_count(RowKind::checkpoints, checkpoints_, Fault::order, "versions");
  }

  void check_call_count() {
    check_count(RowKind::calls, calls_, Fault::ledger, "calls");
    // Where anything else is wrong, a receipt's time may be what is damaged.
    const bool is_sound = run_.report().found == found_before_;
    if (!run_.report().is_complete || !receipts_read_ || !is_sound) return;
    for (const auto& [position, at] : moves_) {
      if (times_.contains(at)) continue;
      run_.found.add({.fault = Fault::ledger,
                      .session = session_.id,
                      .first = position,
                      .last = position,
                      .what = fmt::format("call {} changed at {}, and no commit was made then",
                                          call_name(session_.id, position), to_iso8601(at))});
    }
  }

  void check_count(RowKind kind, std::uint64_t made, Fault fault, std::string_view what) {
    if (!run_.report().is_complete || !receipts_read_) return;
    const std::uint64_t there = rows_.count(kind, 0);
    if (there == made) return;
    run_.found.add(
        fault, session_.id,
        fmt::format("the session has {} {}, and its commits made {}", there, what, made));
  }

  void check_summary() {
    if (!run_.report().is_complete || !receipts_read_ || segments_.empty()) return;
    compare("head", session_.head, at_.position);
    compare("next position", session_.next, next_);
    compare("segment", session_.segment, at_.segment);
    compare("number of commits", session_.commits, number_);
    compare("version", session_.version, version_);
    compare("number of calls in doubt", session_.attention, in_doubt_);
    if (session_.chain != chain_) {
      run_.found.add(Fault::summary, session_.id, "the session's row does not end its hash chain");
    }
    if (!tally_) tally_ = rows_.count_tally(at_);
    if (tally_ && *tally_ != session_.tally) {
      run_.found.add(Fault::summary, session_.id,
                     "the totals of the session are not those of its entries");
    }
  }

  template <class Number>
  void compare(std::string_view what, Number says, Number is) {
    if (says == is) return;
    run_.found.add(
        Fault::summary, session_.id,
        fmt::format("the session's row says its {} is {}, and it is {}", what, says, is));
  }

  std::optional<Tally> tally_of_segment(const Part& part) {
    if (!part.parent) return Tally{};
    std::optional<Tally> tally;
    run_.guard(session_.id, fmt::format("the line before segment {}", part.segment),
               [&] { tally = rows_.count_tally({*part.parent, part.parent_position}); });
    return tally;
  }

  void add(Fault fault, const ReceiptFact& commit, std::string what) {
    run_.found.add({.fault = fault,
                    .session = session_.id,
                    .first = commit.receipt.first,
                    .last = commit.receipt.count == 0 ? commit.receipt.first : last_of(commit),
                    .what = std::move(what)});
  }

  void add(Fault fault, const Stretch& stretch, std::string_view what) {
    run_.found.add(
        {.fault = fault,
         .session = session_.id,
         .first = stretch.first,
         .last = stretch.last,
         .what = fmt::format("{} of session {} {}", positions_text(stretch.first, stretch.last),
                             session_.id.text(), what)});
  }

  void add(Fault fault, const Call& call, const std::string& what) {
    if (what.empty()) return;
    run_.found.add(
        {.fault = fault,
         .session = session_.id,
         .first = call.position,
         .last = call.position,
         .what = fmt::format("call {} {}", call_name(session_.id, call.position), what)});
  }

  CheckRun& run_;
  StoredSession& rows_;
  const StoredSummary& session_;
  std::map<SegmentId, Part> segments_;
  std::map<SegmentId, std::uint64_t> entries_;  // Seen, by segment.

  // What the commits so far lead to. No totals: they have to be counted.
  Place at_{};
  Position next_ = 1;
  bool is_next_known_ = true;
  Digest chain_;
  bool is_chain_known_ = true;
  std::optional<Tally> tally_;
  std::uint64_t number_ = 0;
  Version version_ = 0;
  bool version_known_ = true;
  std::uint64_t checkpoints_ = 0;
  std::uint64_t calls_ = 0;
  std::int64_t in_doubt_ = 0;
  // A call moves in a commit, at its time.
  std::set<Timestamp> times_;
  std::vector<std::pair<Position, Timestamp>> moves_;
  const std::uint64_t found_before_ = run_.report().found;
  bool receipts_read_ = false;
};

}  // namespace

void check_history(CheckRun& run, StoredSession& rows, const StoredSummary& session,
                   const std::vector<Part>& segments) {
  SessionCheck(run, rows, session, segments).check();
}

void check_message(CheckRun& run, StoredSession& rows, const SessionId& session,
                   const StoredMessage& message) {
  const auto add = [&](Fault fault, std::string_view what) {
    run.found.add(fault, session, fmt::format("message '{}' {}", message.id, what));
  };
  if (!MessageId::parse(message.id) || message.kind.empty() || message.codec < 0 ||
      message.codec > 2 || message.is_consumed == message.has_body) {
    add(Fault::file, "of the inbox contradicts itself");
    return;
  }
  if (message.is_consumed) return;
  const Body body = Body::from_stored(static_cast<Codec>(message.codec), message.bytes);
  if (body.codec() == Codec::json && !is_json(body.bytes())) {
    add(Fault::chain, "says it is JSON, and is not");
  }
  if (!rows.has_blob(body)) add(Fault::reference, "names a blob that is not there");
}

void check_row(CheckRun& run, const StoredSummary& session, const SummaryWords& words,
               bool is_owner_unknown) {
  if (const auto broken = find_bad_word(words); !broken.empty()) {
    run.found.add(Fault::summary, session.id, fmt::format("the session's row: {}", broken));
  }
  if (session.id.empty()) {
    run.found.add(Fault::summary, {},
                  fmt::format("session number {} has no proper id", session.number));
  }
  if (is_owner_unknown) {
    run.found.add(Fault::reference, session.id, "the session's owner is not an enrolled worker");
  }
}

void check_segment(CheckRun& run, const SessionId& session, std::vector<Part>& before,
                   const Part& part, bool is_parent_there) {
  const auto broken =
      find_bad_segment(part, before.empty() ? nullptr : &before.back(), is_parent_there);
  if (!broken.empty()) {
    run.found.add(Fault::reference, session,
                  fmt::format("segment {} of the session {}", part.segment, broken));
  }
  before.push_back(part);
}

std::vector<Stretch> without_pruned(const Stretch& stretch,
                                    const std::vector<std::pair<Position, Position>>& pruned) {
  std::vector<Stretch> left;
  Position next = stretch.first;
  for (const auto& [first, upto] : pruned) {
    if (upto <= next || first > stretch.last) continue;
    if (first > next) left.push_back({stretch.segment, next, first - 1});
    next = upto;
  }
  if (next <= stretch.last) left.push_back({stretch.segment, next, stretch.last});
  return left;
}

// Findings are listed up to a limit and counted beyond it: a large store may be
// damaged in more places than anyone reads.

void Findings::add(Damage damage) {
  ++report.found;
  if (report.damage.size() < damage_max) report.damage.push_back(std::move(damage));
}

void Findings::add(Fault fault, const std::optional<SessionId>& session, std::string what) {
  add({.fault = fault, .session = session, .first = 0, .last = 0, .what = std::move(what)});
}

CheckReport Findings::finish() {
  std::ranges::stable_sort(report.damage, {}, [](const Damage& damage) {
    return std::tuple(damage.session, damage.first, damage.last);
  });
  return std::move(report);
}

std::string positions_text(Position first, Position last) {
  if (first == last) return fmt::format("position {}", first);
  return fmt::format("positions {} to {}", first, last);
}

// The arrows between a call's states leave traces: attempts, failures, times.

namespace {

bool was_dispatched(CallState state) {
  return state == CallState::dispatched || state == CallState::succeeded ||
         state == CallState::failed || state == CallState::in_doubt ||
         state == CallState::abandoned;
}

bool is_settled(CallState state) {
  return state != CallState::intended && state != CallState::dispatched;
}

bool is_object(const std::string& text) {
  const auto parsed = parse_json(text);
  return parsed && parsed->as_object() != nullptr;
}

bool is_array(const std::string& text) {
  const auto parsed = parse_json(text);
  return parsed && parsed->as_array() != nullptr;
}

}  // namespace

std::string find_contradiction(const Call& call) {
  const bool dispatched = was_dispatched(call.state);
  if (dispatched != (call.attempts > 0)) {
    return fmt::format("it is {} after {} attempts", to_string(call.state), call.attempts);
  }
  if (dispatched != call.dispatched_at.has_value()) {
    return fmt::format("it is {} and {} a time of dispatch", to_string(call.state),
                       dispatched ? "lacks" : "has");
  }
  if (is_settled(call.state) != call.settled_at.has_value()) {
    return fmt::format("it is {} and {} a time when it was settled", to_string(call.state),
                       call.settled_at ? "has" : "lacks");
  }
  if (call.result && !is_settled(call.state)) {
    return fmt::format("it is {} and has a result", to_string(call.state));
  }
  const bool failed = call.state == CallState::failed;
  // Each attempt fails once at most, and the one that is under way has not.
  if (call.failures < (failed ? 1 : 0) || call.failures > call.attempts ||
      (dispatched && !failed && call.failures == call.attempts)) {
    return fmt::format("it is {} and has failed {} times in {} attempts", to_string(call.state),
                       call.failures, call.attempts);
  }
  return {};
}

std::string find_bad_word(const SummaryWords& words) {
  if (!status_from(words.status)) return fmt::format("its status is '{}'", words.status);
  if (!is_array(words.tags)) return "its tags are not a list";
  if (!is_object(words.metadata)) return "its metadata is not a JSON object";
  const bool is_lineage = words.lineage == "fork" || words.lineage == "child";
  if (is_lineage != words.has_parent) return "it is half a fork or child";
  return {};
}

std::string find_bad_segment(const Part& part, const Part* before, bool is_parent_there) {
  if (before != nullptr && part.first < before->first) return "begins before the one before it";
  if (!part.parent) {
    if (part.first == 1 && part.parent_position == 0) return {};
    return "has no parent and does not begin at position 1";
  }
  if (*part.parent >= part.segment) return "is older than its parent";
  if (part.parent_position >= part.first) return "begins before the point it continues from";
  if (!is_parent_there) {
    return fmt::format("continues from segment {}, which is not there", *part.parent);
  }
  return {};
}

bool is_possible(const Tally& tally) {
  for (const std::int64_t part :
       {tally.turns, tally.steps, tally.tokens_in, tally.tokens_out, tally.cost_micros}) {
    if (part > tally_max || part < -tally_max) return false;
  }
  return true;
}

Entry lost_entry(SegmentId segment, Position position) {
  Entry entry;
  entry.position = position;
  entry.segment = segment;
  entry.condition = Condition::damaged;
  return entry;
}

bool is_lost(const Entry& entry) {
  return entry.condition == Condition::damaged && entry.hash == Digest{} &&
         entry.body.bytes().empty();
}

}  // namespace perdure::rules
