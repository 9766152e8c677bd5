// In the target the session that is copied is what a removed parent of a fork is: segments without a row.
// The fork comes first among the owners, under a number that no store gives; its segment comes last.

#include "copy/fork_facts.hpp"

#include <fmt/format.h>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "copy/fact_stream.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/store/bundle.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "rules/calls.hpp"
#include "rules/chain.hpp"
#include "rules/retention.hpp"
#include "store/api/transfer.hpp"

namespace perdure::copy {

namespace {

constexpr OwnerNumber fork_number = 0;

SessionFact::Row fork_of(SessionFact::Row parent, const CopyOptions& options) {
  SessionSummary& row = parent.summary;
  row.parent = Parent{.session = row.id, .position = row.head, .lineage = Lineage::fork};
  row.wait_reason = options.reason.empty() ? fmt::format("copied from session {}", row.id.text())
                                           : options.reason;
  row.id = options.id;
  row.status = Status::paused;
  row.wake_at.reset();
  row.next = row.head + 1;
  row.version = 0;
  row.attention = 0;
  row.restored = false;
  row.revision = 1;
  row.created_at = row.updated_at;
  parent.commits = 0;
  parent.chain = rules::chain_start(row.id);
  parent.fence = 0;
  return parent;
}

/// What is left of a call in the target: that it holds its key, or that it may have been made.
std::optional<Call> claim_of(Call call) {
  if (!call.claimed && !(call.key && rules::holds_key(call.state))) return std::nullopt;
  if (rules::is_open(call.state)) rules::disown(call);
  return call;
}

}  // namespace

Result<ForkFacts> ForkFacts::of(Transfer& transfer, const FactSource& source,
                                const SessionId& session, const CopyOptions& options) {
  std::optional<SessionFact::Row> row;
  std::map<SegmentId, SegmentFact> segments;
  FactStream facts(transfer, source);
  while (true) {
    auto next = facts.next();
    if (!next) return forward(next);
    if (*next == nullptr) break;
    if (const auto* fact = std::get_if<SessionFact>(*next)) {
      if (fact->row && fact->row->summary.id == session) row = fact->row;
    } else if (const auto* segment = std::get_if<SegmentFact>(*next)) {
      segments.emplace(segment->segment, *segment);
    } else {
      break;
    }
  }
  ForkFacts fork;
  const Position head = row ? row->summary.head : 0;
  std::optional<SegmentId> at = row ? std::optional(row->segment) : std::nullopt;
  for (Position last = head; at;) {
    const auto segment = segments.find(*at);
    if (segment == segments.end() || !fork.line_.emplace(*at, last).second) break;
    fork.owners_.insert(segment->second.owner);
    last = segment->second.parent_position;
    at = segment->second.parent;
  }
  if (!row || at || segments.empty()) {
    return fail(ErrorCode::corrupted,
                fmt::format("the line of session {} cannot be read", session.text()),
                session.text());
  }
  fork.segment_ = {.segment = segments.rbegin()->first + 1,
                   .owner = fork_number,
                   .first = head + 1,
                   .parent = row->segment,
                   .parent_position = head};
  fork.fork_ = {.owner = fork_number, .row = fork_of(*std::move(row), options)};
  fork.fork_.row->segment = fork.segment_.segment;
  return fork;
}

void ForkFacts::add(const Fact& fact, FactSlice& slice) const {
  const auto is_on_line = [this](SegmentId segment, Position position) {
    const auto found = line_.find(segment);
    return found != line_.end() && position <= found->second;
  };
  if (const auto* session = std::get_if<SessionFact>(&fact)) {
    if (owners_.contains(session->owner)) {
      slice.facts.emplace_back(SessionFact{.owner = session->owner, .row = {}});
    }
  } else if (const auto* segment = std::get_if<SegmentFact>(&fact)) {
    if (line_.contains(segment->segment)) slice.facts.push_back(fact);
  } else if (const auto* pruned = std::get_if<PrunedFact>(&fact)) {
    if (is_on_line(pruned->segment, pruned->first)) slice.facts.push_back(fact);
  } else if (const auto* entry = std::get_if<Entry>(&fact)) {
    if (is_on_line(entry->segment, entry->position)) slice.facts.push_back(fact);
  } else if (const auto* call = std::get_if<CallFact>(&fact)) {
    if (auto claim = claim_of(call->call)) slice.facts.emplace_back(ClaimFact{*std::move(claim)});
  } else if (std::holds_alternative<ClaimFact>(fact) ||
             std::holds_alternative<ResourceFact>(fact)) {
    slice.facts.push_back(fact);
  }
}

FactSlice ForkFacts::apply(FactSlice slice) const {
  FactSlice mine{.from = std::move(slice.from), .facts = {}, .next = std::move(slice.next)};
  if (mine.from == FactCursor{}) mine.facts.emplace_back(fork_);
  for (const Fact& fact : slice.facts) add(fact, mine);
  const auto* last = slice.facts.empty() ? nullptr : std::get_if<SegmentFact>(&slice.facts.back());
  if (last != nullptr && last->segment + 1 == segment_.segment) mine.facts.emplace_back(segment_);
  return mine;
}

}  // namespace perdure::copy
