// What each fact is made of, in the order in which it is packed. To add a field is a new format of
// bundles (bundle.hpp).

#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include "copy/packing.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "store/api/transfer.hpp"

namespace perdure::bundle {

template <>
inline constexpr auto last_of<Status> = Status::cancelled;
template <>
inline constexpr auto last_of<Lineage> = Lineage::child;
template <>
inline constexpr auto last_of<Fold> = Fold::replace;
template <>
inline constexpr auto last_of<Codec> = Codec::blob;
template <>
inline constexpr auto last_of<CallState> = CallState::cancelled;
template <>
inline constexpr auto last_of<EffectClass> = EffectClass::unsafe;

/// `Value` itself to be read, or const to be written.
template <class Value, class Of>
concept Either = std::same_as<std::remove_const_t<Value>, Of>;

template <class Archive>
void fields(Archive& archive, Either<Tally> auto& tally) {
  archive(tally.turns, tally.steps, tally.tokens_in, tally.tokens_out, tally.cost_micros);
}

template <class Archive>
void fields(Archive& archive, Either<Parent> auto& parent) {
  archive(parent.session, parent.position, parent.lineage);
}

inline void fields(Packer& archive, const Body& body) { archive(body.codec(), body.bytes()); }
inline void fields(Unpacker& archive, Body& body) {
  Codec codec = Codec::bytes;
  std::string bytes;
  archive(codec, bytes);
  body = Body::from_stored(codec, std::move(bytes));
}

template <class Archive>
void fields(Archive& archive, Either<SessionSummary> auto& row) {
  archive(row.id, row.title, row.opening, row.tags, row.metadata, row.status, row.wait_reason);
  archive(row.wake_at, row.parent, row.head, row.next, row.version, row.tally, row.attention);
  archive(row.restored, row.revision, row.created_at, row.updated_at);
}

template <class Archive>
void fields(Archive& archive, Either<SessionFact::Row> auto& row) {
  archive(row.summary, row.segment, row.commits, row.chain, row.fence);
}

template <class Archive>
void fields(Archive& archive, Either<SessionFact> auto& fact) {
  archive(fact.owner, fact.row);
}

template <class Archive>
void fields(Archive& archive, Either<SegmentFact> auto& fact) {
  archive(fact.segment, fact.owner, fact.first, fact.parent, fact.parent_position);
}

template <class Archive>
void fields(Archive& archive, Either<PrunedFact> auto& fact) {
  archive(fact.segment, fact.first, fact.upto, fact.entries, fact.tally);
}

// Whether a body is damaged follows from its hash.
template <class Archive>
void fields(Archive& archive, Either<Entry> auto& entry) {
  archive(entry.position, entry.segment, entry.channel, entry.kind, entry.fold, entry.body);
  archive(entry.hash, entry.tally, entry.at);
  if constexpr (std::same_as<Archive, Packer>) {
    archive(entry.condition == Condition::erased);
  } else {
    bool is_erased = false;
    archive(is_erased);
    if (is_erased) {
      entry.condition = Condition::erased;
    } else if (sha256(entry.body.bytes()) != entry.hash) {
      entry.condition = Condition::damaged;
    }
  }
}

template <class Archive>
void fields(Archive& archive, Either<Receipt> auto& receipt) {
  archive(receipt.batch, receipt.first, receipt.count, receipt.head, receipt.version, receipt.at);
  archive(receipt.chain);
}

template <class Archive>
void fields(Archive& archive, Either<ReceiptFact> auto& fact) {
  archive(fact.owner, fact.number, fact.segment, fact.fence, fact.receipt);
}

template <class Archive>
void fields(Archive& archive, Either<Checkpoint> auto& checkpoint) {
  archive(checkpoint.version, checkpoint.position, checkpoint.at, checkpoint.reason);
  archive(checkpoint.label, checkpoint.metadata, checkpoint.tally);
}

template <class Archive>
void fields(Archive& archive, Either<CheckpointFact> auto& fact) {
  archive(fact.owner, fact.segment, fact.checkpoint);
}

/// Which of a call's two keys is there, if one is.
enum class KeyKind : std::uint64_t { none, held, claimed };
template <>
inline constexpr auto last_of<KeyKind> = KeyKind::claimed;

inline void pack_key(Packer& archive, const Call& call) {
  archive(call.key ? KeyKind::held : call.claimed ? KeyKind::claimed : KeyKind::none);
  if (call.key || call.claimed) archive(call.key ? *call.key : *call.claimed);
}
inline void pack_key(Unpacker& archive, Call& call) {
  KeyKind kind = KeyKind::none;
  archive(kind);
  if (kind == KeyKind::none) return;
  archive((kind == KeyKind::held ? call.key : call.claimed).emplace());
}

template <class Archive>
void fields(Archive& archive, Either<Call> auto& call) {
  archive(call.session, call.position, call.args, call.result, call.tool, call.provider_id);
  archive(call.effect);
  pack_key(archive, call);
  archive(call.state, call.attempts, call.failures, call.fence);
  archive(call.intended_at, call.dispatched_at, call.deadline, call.settled_at, call.who, call.why);
}

template <class Archive>
void fields(Archive& archive, Either<CallFact> auto& fact) {
  archive(fact.owner, fact.segment, fact.call);
}

template <class Archive>
void fields(Archive& archive, Either<InboxMessage> auto& message) {
  archive(message.session, message.id, message.kind, message.body, message.at);
}

template <class Archive>
void fields(Archive& archive, Either<MessageFact> auto& fact) {
  archive(fact.owner, fact.consumed, fact.message);
}

template <class Archive>
void fields(Archive& archive, Either<ClaimFact> auto& fact) {
  archive(fact.call);
}

template <class Archive>
void fields(Archive& archive, Either<ResourceFact> auto& fact) {
  archive(fact.name, fact.fence);
}

template <class Archive>
void fields(Archive& archive, Either<FactCursor> auto& cursor) {
  archive(cursor.kind, cursor.group, cursor.number, cursor.name);
}

}  // namespace perdure::bundle
