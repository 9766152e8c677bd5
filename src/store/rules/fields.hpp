// What stored values are made of, once for all that read and write them: bundles (copy/packing.hpp),
// rows of databases (stored_rows.hpp) and the facts that go from store to store.
//
// `fields` hands an archive each field with the name of its column, in the order in which fields are
// packed and selected. To add one is a new format of bundles (bundle.hpp) and of stores.

#pragma once

#include <concepts>
#include <string_view>
#include <type_traits>

#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "store/api/transfer.hpp"

namespace perdure::rules {

/// What an archive may do in its own way; unless it does, these are fields like any other. It has
/// `operator()` for a field and its name, and for a value that has `fields` itself.
template <class Self>
class Archive {
 public:
  /// The numbers of sessions and segments, which differ from store to store.
  template <class Number>
  Self& owner(std::string_view name, Number& number) {
    return self()(name, number);
  }
  template <class Number>
  Self& segment(std::string_view name, Number& number) {
    return self()(name, number);
  }
  /// Text of any bytes.
  template <class Text>
  Self& bytes(std::string_view name, Text& text) {
    return self()(name, text);
  }
  /// Totals that are nearly always zero.
  template <class Sparse>
  Self& sparse(Sparse& tally) {
    return self()(tally);
  }
  /// Of a call, which holds its key or only claims it: at its place, and behind the other columns.
  template <class AnyCall>
  Self& claim(AnyCall& /*call*/) {
    return self();
  }
  /// Of an entry, behind all else: whether it was erased.
  template <class AnyEntry>
  Self& condition(AnyEntry& /*entry*/) {
    return self();
  }

 protected:
  Self& self() { return static_cast<Self&>(*this); }
};

/// `Value` itself to be read, or const to be written.
template <class Value, class Of>
concept Either = std::same_as<std::remove_const_t<Value>, Of>;

template <class Archive>
void fields(Archive& archive, Either<Tally> auto& tally) {
  archive("turns", tally.turns)("steps", tally.steps)("tokens_in", tally.tokens_in);
  archive("tokens_out", tally.tokens_out)("cost_micros", tally.cost_micros);
}

template <class Archive>
void fields(Archive& archive, Either<Parent> auto& parent) {
  archive("parent", parent.session)("parent_position", parent.position)("lineage", parent.lineage);
}

template <class Archive>
void fields(Archive& archive, Either<SessionSummary> auto& row) {
  archive("id", row.id)("title", row.title)("opening", row.opening)("tags", row.tags);
  archive("metadata", row.metadata)("status", row.status)("wait_reason", row.wait_reason);
  archive("wake_at", row.wake_at)(row.parent)("head", row.head)("next", row.next);
  archive("version", row.version)(row.tally)("attention", row.attention)("restored", row.restored);
  archive("revision", row.revision)("created_at", row.created_at)("updated_at", row.updated_at);
}

template <class Archive>
void fields(Archive& archive, Either<SessionFact::Row> auto& row) {
  archive(row.summary)("segment", row.segment)("commits", row.commits)("chain", row.chain);
  archive("fence", row.fence);
}

template <class Archive>
void fields(Archive& archive, Either<SessionFact> auto& fact) {
  archive.owner("num", fact.owner)(fact.row);
}

template <class Archive>
void fields(Archive& archive, Either<SegmentFact> auto& fact) {
  archive.segment("num", fact.segment).owner("session", fact.owner)("first", fact.first);
  archive.segment("parent", fact.parent)("parent_position", fact.parent_position);
}

template <class Archive>
void fields(Archive& archive, Either<PrunedFact> auto& fact) {
  archive.segment("segment", fact.segment)("first", fact.first)("upto", fact.upto);
  archive("entries", fact.entries)(fact.tally);
}

template <class Archive>
void fields(Archive& archive, Either<Entry> auto& entry) {
  archive("position", entry.position).segment("segment", entry.segment);
  archive("channel", entry.channel)("kind", entry.kind)("fold", entry.fold);
  archive.content(entry, entry.body)("hash", entry.hash).sparse(entry.tally)("at", entry.at);
  archive.condition(entry);
}

template <class Archive>
void fields(Archive& archive, Either<Receipt> auto& receipt) {
  archive("batch", receipt.batch)("first", receipt.first)("count", receipt.count);
  archive("head", receipt.head)("version", receipt.version)("at", receipt.at);
  archive("chain", receipt.chain);
}

template <class Archive>
void fields(Archive& archive, Either<ReceiptFact> auto& fact) {
  archive.owner("session", fact.owner)("number", fact.number).segment("segment", fact.segment);
  archive("fence", fact.fence)(fact.receipt);
}

template <class Archive>
void fields(Archive& archive, Either<Checkpoint> auto& checkpoint) {
  archive("version", checkpoint.version)("position", checkpoint.position)("at", checkpoint.at);
  archive("reason", checkpoint.reason)("label", checkpoint.label);
  archive("metadata", checkpoint.metadata)(checkpoint.tally);
}

template <class Archive>
void fields(Archive& archive, Either<CheckpointFact> auto& fact) {
  archive.owner("session", fact.owner).segment("segment", fact.segment)(fact.checkpoint);
}

template <class Archive>
void fields(Archive& archive, Either<Call> auto& call) {
  archive("id", call.session)("position", call.position)("args", call.args);
  archive("result", call.result)("tool", call.tool).bytes("provider_id", call.provider_id);
  archive("effect", call.effect).key(call)("state", call.state)("attempts", call.attempts);
  archive("failures", call.failures)("fence", call.fence)("intended_at", call.intended_at);
  archive("dispatched_at", call.dispatched_at)("deadline", call.deadline);
  archive("settled_at", call.settled_at)("who", call.who)("why", call.why).claim(call);
}

template <class Archive>
void fields(Archive& archive, Either<CallFact> auto& fact) {
  archive.owner("session", fact.owner).segment("segment", fact.segment)(fact.call);
}

template <class Archive>
void fields(Archive& archive, Either<MessageFact> auto& fact) {
  auto& message = fact.message;
  archive.owner("session", fact.owner)("consumed", fact.consumed)("session_id", message.session);
  archive("id", message.id)("kind", message.kind).content(fact, message.body)("at", message.at);
}

template <class Archive>
void fields(Archive& archive, Either<ClaimFact> auto& fact) {
  archive(fact.call);
}

template <class Archive>
void fields(Archive& archive, Either<ResourceFact> auto& fact) {
  archive("name", fact.name)("fence", fact.fence);
}

template <class Archive>
void fields(Archive& archive, Either<FactCursor> auto& cursor) {
  archive("kind", cursor.kind)("group", cursor.group)("number", cursor.number);
  archive("name", cursor.name);
}

}  // namespace perdure::rules
