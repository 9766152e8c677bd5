// A slice without facts is not the end: only its cursor says so.

#include "copy/fact_stream.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "copy/fact_codec.hpp"
#include "core/api/sha256.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/store/store.hpp"
#include "rules/moves.hpp"
#include "store/api/transfer.hpp"

namespace perdure::copy {

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

}  // namespace perdure::copy
