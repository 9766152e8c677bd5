// Facts on their way: read slice by slice, and compared.

#include "copy/fact_stream.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <fmt/format.h>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "copy/fact_codec.hpp"
#include "core/api/sha256.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/store.hpp"
#include "rules/chain.hpp"
#include "rules/moves.hpp"
#include "store/api/transfer.hpp"

namespace perdure::copy {

// A slice without facts is not the end: only its cursor says so.

std::uint64_t new_attempt() {
  const Digest digest = sha256(to_base32(random_ids().next()));
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < 7; ++i) number = number << 8U | digest.at(i);
  return number + 1;
}

namespace {

/// Of a receipt, checkpoint, call or message: whose it is.
std::optional<OwnerNumber> owner_of(const Fact& fact) {
  return std::visit(
      [](const auto& one) -> std::optional<OwnerNumber> {
        if constexpr (requires { one.owner; }) return one.owner;
        return std::nullopt;
      },
      fact);
}

}  // namespace

Result<FactSlice> SourceFacts::read(const FactCursor& from) {
  auto slice = transfer_.read(source_, from);
  if (!slice) return slice;
  for (const Fact& fact : slice->facts) {
    const auto* session = std::get_if<SessionFact>(&fact);
    if (session != nullptr && session->row) with_row_.insert(session->owner);
    const auto owner = owner_of(fact);
    const auto* call = std::get_if<CallFact>(&fact);
    const bool is_row = rules::kind_of(fact) >= FactKind::receipt && owner;
    if ((is_row && !with_row_.contains(*owner)) ||
        (call != nullptr && call->call.session.empty())) {
      is_torn_ = true;
      return fail(ErrorCode::conflict, "a session was removed while it was read");
    }
  }
  return slice;
}

Result<Digest> SourceFacts::sum_of(FactKind first, FactKind last) const {
  Sha256 hash;
  for (FactCursor next{.kind = first, .group = 0, .number = 0, .name = {}}; next.kind <= last;) {
    auto slice = transfer_.read(source_, next);
    if (!slice) return forward(slice);
    // Where there is nothing of a kind, the next one is read.
    if (!slice->facts.empty() && rules::kind_of(slice->facts.front()) > last) break;
    hash.update_sized(bundle::pack(*slice));
    next = std::move(slice->next);
  }
  return hash.finish();
}

Result<SourceFacts::Trace> SourceFacts::trace() const {
  auto rows = sum_of(FactKind::session, FactKind::pruned);
  if (!rows) return forward(rows);
  auto checkpoints = sum_of(FactKind::checkpoint, FactKind::checkpoint);
  if (!checkpoints) return forward(checkpoints);
  auto claims = sum_of(FactKind::claim, FactKind::claim);
  if (!claims) return forward(claims);
  return Trace{.sessions = sha256(to_hex(*rows) + to_hex(*checkpoints)), .claims = *claims};
}

Result<bool> SourceFacts::has_changed(const Trace& before, bool failed) const {
  if (is_torn_) return true;
  auto after = trace();
  if (!after) return forward(after);
  return after->sessions != before.sessions || (failed && after->claims != before.claims);
}

// A store names one missing relative at a time, as the subject of its refusal.
std::vector<SessionId> with_relatives(Store& store, std::vector<SessionId> sessions) {
  while (!sessions.empty()) {
    const auto owners = find_owners(store.transfer(), sessions);
    if (owners || owners.error().code != ErrorCode::conflict) break;
    auto missing = SessionId::parse(owners.error().subject);
    if (!missing || std::ranges::find(sessions, *missing) != sessions.end() ||
        !store.sessions().read(*missing)) {
      break;
    }
    sessions.push_back(*std::move(missing));
  }
  return sessions;
}

FactStream::FactStream(Transfer& transfer, FactSource source, FactCursor from)
    : FactStream(
          [&transfer, source = std::move(source)](const FactCursor& at) -> Result<FactSlice> {
            auto slice = transfer.read(source, at);
            if (slice && slice->attempt != source.arrival.attempt) {
              return fail(ErrorCode::lease_lost, "another attempt has discarded the arrival");
            }
            return slice;
          },
          std::move(from)) {}

Result<const Fact*> FactStream::next() {
  while (is_slice_done()) {
    if (slice_.next.is_end()) return nullptr;
    auto read = read_(slice_.next);
    if (!read) return forward(read);
    slice_ = *std::move(read);
    at_ = 0;
  }
  return &slice_.facts[at_++];
}

// Positions rise with a session's commits, so entries in their order are also in the order of the
// commits that put them there. Of a commit that was pruned in part nothing can be said but that
// the next one continues from it; `check` does the same.

Result<void> ChainCheck::add(const Fact& fact) {
  if (const auto* session = std::get_if<SessionFact>(&fact)) add_session(*session);
  if (const auto* segment = std::get_if<SegmentFact>(&fact)) add_segment(*segment);
  const auto* entry = std::get_if<Entry>(&fact);
  return entry == nullptr ? Result<void>() : add_entry(*entry);
}

void ChainCheck::add_session(const SessionFact& fact) {
  if (!fact.row) return;
  sessions_[fact.owner] = {
      .id = fact.row->summary.id, .chain = fact.row->chain, .commits = fact.row->commits};
}

void ChainCheck::add_segment(const SegmentFact& fact) {
  segments_[fact.segment] = {.owner = fact.owner, .from = fact.parent_position};
}

Result<void> ChainCheck::add_entry(const Entry& entry) {
  const OwnerNumber owner = segments_[entry.segment].owner;
  const auto session = sessions_.find(owner);
  if (session == sessions_.end()) return {};
  if (entry.condition == Condition::damaged) damaged_.insert(session->second.id);
  if (!is_started_) {
    is_started_ = true;
    if (auto read = read_receipt(); !read) return read;
  }
  while (receipt_ && is_behind(owner, entry.position)) {
    close();
    if (auto read = read_receipt(); !read) return read;
  }
  const bool is_its = receipt_ && receipt_->owner == owner && entry.segment == receipt_->segment &&
                      entry.position >= receipt_->receipt.first;
  if (!is_its) {
    damaged_.insert(session->second.id);  // No commit put it there.
    return {};
  }
  seal_->add(entry);
  ++seen_;
  return {};
}

Result<void> ChainCheck::finish() {
  if (!is_started_) {
    if (auto read = read_receipt(); !read) return read;
  }
  while (receipt_) {
    close();
    if (auto read = read_receipt(); !read) return read;
  }
  end_session();
  // Those without a single commit.
  for (const auto& [owner, session] : sessions_) {
    if (session.commits == 0 && session.chain != rules::chain_start(session.id)) {
      damaged_.insert(session.id);
    }
  }
  return {};
}

bool ChainCheck::is_behind(OwnerNumber owner, Position position) const {
  const Receipt& receipt = receipt_->receipt;
  return std::pair(receipt_->owner, receipt.first + receipt.count) <= std::pair(owner, position);
}

Result<void> ChainCheck::read_receipt() {
  receipt_.reset();
  auto fact = receipts_.next();
  if (!fact) return forward(fact);
  if (*fact == nullptr) return {};
  const auto* receipt = std::get_if<ReceiptFact>(*fact);
  if (receipt == nullptr) return {};
  receipt_ = *receipt;
  begin();
  return {};
}

void ChainCheck::begin() {
  const Receipt& receipt = receipt_->receipt;
  if (receipt_->owner != owner_) {
    end_session();
    owner_ = receipt_->owner;
    segment_ = 0;
    number_ = 0;
    chain_ = rules::chain_start(sessions_[owner_].id);
  }
  if (receipt_->segment != segment_) {
    segment_ = receipt_->segment;
    position_ = segments_[segment_].from;
  }
  seal_.emplace(receipt.batch, receipt.at, receipt.count);
  seen_ = 0;
}

void ChainCheck::close() {
  const Receipt& receipt = receipt_->receipt;
  const bool is_whole = seen_ == receipt.count;
  const bool is_next = receipt_->number == number_ + 1;
  if (!is_next || (is_whole && rules::chain_next(chain_, seal_->finish(), position_,
                                                 receipt.first) != receipt.chain)) {
    damaged_.insert(sessions_[owner_].id);
  }
  chain_ = receipt.chain;
  number_ = receipt_->number;
  position_ = receipt.head;
}

void ChainCheck::end_session() {
  const auto session = sessions_.find(owner_);
  if (session == sessions_.end()) return;
  if (session->second.chain != chain_ || session->second.commits != number_) {
    damaged_.insert(session->second.id);
  }
}

// Both stores hand facts over in the same order. Numbers of sessions and segments differ: which
// is which is learned where a fact first names one, and must hold for all that follow.

namespace {

std::unexpected<Error> differs(std::string_view what) {
  return fail(ErrorCode::corrupted,
              fmt::format("the target does not hold what the source gave it: {}", what));
}

std::string_view name_of(const Fact& fact) {
  static constexpr std::string_view names[] = {
      "a session",    "a segment", "what was pruned", "an entry", "a receipt",
      "a checkpoint", "a call",    "a message",       "a claim",  "a resource"};
  static_assert(std::size(names) == std::variant_size_v<Fact>);
  return names[fact.index()];
}

}  // namespace

Comparison::Comparison(FactStream source, Store& to, const Arrival& arrival)
    : to_(to),
      source_(std::move(source)),
      target_(to.transfer(), FactSource{.owners = {}, .arrival = arrival}),
      chains_(FactStream(to.transfer(), FactSource{.owners = {}, .arrival = arrival},
                         {.kind = FactKind::receipt, .group = 0, .number = 0, .name = {}})) {}

Result<bool> Comparison::run(const std::function<bool(std::uint64_t)>& go_on) {
  std::uint64_t seen = 0;
  while (true) {
    if (source_.is_slice_done() && !go_on(seen)) return false;
    auto fact = source_.next();
    if (!fact) return forward(fact);
    if (*fact == nullptr) break;
    ++seen;
    if (auto same = compare(**fact); !same) return forward(same);
  }
  auto rest = target_.next();
  if (!rest) return forward(rest);
  if (*rest != nullptr) return differs("it holds more");
  if (auto active = compare_active(); !active) return forward(active);
  if (auto checked = chains_.finish(); !checked) return forward(checked);
  report_.damaged = chains_.damaged().size();
  return true;
}

Result<void> Comparison::compare(Fact of_source) {
  if (const auto* claim = std::get_if<ClaimFact>(&of_source)) return compare_claim(*claim);
  if (std::holds_alternative<ResourceFact>(of_source)) return {};
  auto next = target_.next();
  if (!next) return forward(next);
  if (*next == nullptr || (*next)->index() != of_source.index()) {
    return differs(fmt::format("{} is missing", name_of(of_source)));
  }
  Fact of_target = **next;
  if (auto* session = std::get_if<SessionFact>(&of_source)) {
    auto& other = std::get<SessionFact>(of_target);
    numbers_.owners.emplace(session->owner, other.owner);
    // Compared when the segments are known.
    if (session->row && other.row) {
      active_.emplace_back(std::exchange(session->row->segment, 0),
                           std::exchange(other.row->segment, 0));
    }
  }
  if (const auto* segment = std::get_if<SegmentFact>(&of_source)) {
    numbers_.segments.emplace(segment->segment, std::get<SegmentFact>(of_target).segment);
  }
  rules::renumber(of_source, numbers_);
  if (of_source != of_target) return differs(fmt::format("{} is another one", name_of(of_source)));
  return note(of_target);
}

Result<void> Comparison::compare_claim(const ClaimFact& claim) {
  ++report_.claims;
  if (!claim.call.key) return {};
  auto holder = to_.ledger().find_holder(*claim.call.key);
  if (!holder) return forward(holder);
  return *holder ? Result<void>() : differs("a key that a removed session holds is free");
}

Result<void> Comparison::compare_active() {
  for (const auto& [of_source, of_target] : active_) {
    const auto found = numbers_.segments.find(of_source);
    if (found == numbers_.segments.end() || found->second != of_target) {
      return differs("a session continues in another segment");
    }
  }
  return {};
}

Result<void> Comparison::note(const Fact& of_target) {
  const auto* session = std::get_if<SessionFact>(&of_target);
  report_.sessions += session != nullptr && session->row ? 1 : 0;
  report_.commits += std::holds_alternative<ReceiptFact>(of_target) ? 1 : 0;
  report_.calls += std::holds_alternative<CallFact>(of_target) ? 1 : 0;
  report_.messages += std::holds_alternative<MessageFact>(of_target) ? 1 : 0;
  report_.entries += std::holds_alternative<Entry>(of_target) ? 1 : 0;
  return chains_.add(of_target);
}

}  // namespace perdure::copy
