// Facts as perdure.take understands them. The names are those of sql/transfer.sql; what a fact does
// not have is left out.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "perdure/core/json.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "postgres/client/params.hpp"
#include "postgres/client/values.hpp"
#include "postgres/transit.hpp"
#include "rules/calls.hpp"
#include "rules/stored_rows.hpp"
#include "store/api/transfer.hpp"

namespace perdure::postgres {
namespace {

class FactObject {
 public:
  FactObject& add(const char* name, const std::string& text) { return put(name, Json(text)); }
  FactObject& add(const char* name, std::string_view text) { return put(name, Json(text)); }
  FactObject& add(const char* name, std::uint64_t number) { return put(name, sendable(number)); }
  FactObject& add(const char* name, std::int64_t number) { return put(name, number); }
  FactObject& add(const char* name, bool value) { return put(name, value); }
  FactObject& add(const char* name, const Digest& digest) { return put(name, to_hex(digest)); }
  FactObject& add(const char* name, Timestamp time) {
    return put(name, std::int64_t{time.time_since_epoch().count()});
  }
  template <class T>
  FactObject& add(const char* name, const std::optional<T>& value) {
    return value ? add(name, *value) : *this;
  }
  FactObject& add(const Tally& tally) {
    return add("turns", tally.turns)
        .add("steps", tally.steps)
        .add("tokens_in", tally.tokens_in)
        .add("tokens_out", tally.tokens_out)
        .add("cost_micros", tally.cost_micros);
  }

  [[nodiscard]] Json json() && { return Json(std::move(object_)); }

 private:
  FactObject& put(const char* name, Json value) {
    object_.emplace_back(name, std::move(value));
    return *this;
  }

  Json::Object object_;
};

std::string hex_of(std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    text += digits[value >> 4U];
    text += digits[value & 15U];
  }
  return text;
}

// What claims keep of a call as well.
void add_call(FactObject& object, const Call& call, const std::optional<Digest>& key) {
  object.add("position", call.position)
      .add("tool", call.tool)
      .add("effect", to_string(call.effect))
      .add("key", key)
      .add("claimed", call.claimed)
      .add("state", to_string(call.state))
      .add("attempts", call.attempts)
      .add("failures", call.failures)
      .add("fence", call.fence)
      .add("intended_at", call.intended_at)
      .add("dispatched_at", call.dispatched_at)
      .add("settled_at", call.settled_at);
}

/// The columns of one fact; bodies go another way.
class FactColumns {
 public:
  /// `number` is the fact's place in its slice, from 1 on.
  explicit FactColumns(std::size_t number) : number_(number) {}

  FactObject operator()(const SessionFact& fact) const {
    FactObject object;
    object.add("owner", fact.owner);
    if (fact.row) add_row(object, *fact.row);
    return object;
  }

  FactObject operator()(const SegmentFact& fact) const {
    FactObject object;
    object.add("segment", fact.segment)
        .add("owner", fact.owner)
        .add("first", fact.first)
        .add("parent", fact.parent)
        .add("parent_position", fact.parent_position);
    return object;
  }

  FactObject operator()(const PrunedFact& fact) const {
    FactObject object;
    object.add("segment", fact.segment)
        .add("first", fact.first)
        .add("upto", fact.upto)
        .add("entries", fact.entries)
        .add(fact.tally);
    return object;
  }

  FactObject operator()(const Entry& entry) const {
    FactObject object;
    object.add("n", std::uint64_t{number_})
        .add("segment", entry.segment)
        .add("position", entry.position)
        .add("channel", entry.channel)
        .add("kind", entry.kind)
        .add("fold", static_cast<std::int64_t>(entry.fold))
        .add("codec", rules::codec_column(entry))
        .add("at", entry.at)
        .add("hash", entry.hash);
    const Tally& tally = entry.tally;
    // As a commit writes them: what adds nothing is not there.
    const auto add = [&](const char* name, std::int64_t number) {
      if (number != 0) object.add(name, number);
    };
    add("turns", tally.turns);
    add("steps", tally.steps);
    add("tokens_in", tally.tokens_in);
    add("tokens_out", tally.tokens_out);
    add("cost_micros", tally.cost_micros);
    return object;
  }

  FactObject operator()(const ReceiptFact& fact) const {
    FactObject object;
    const Receipt& receipt = fact.receipt;
    object.add("owner", fact.owner)
        .add("batch", receipt.batch.text())
        .add("number", fact.number)
        .add("segment", fact.segment)
        .add("first", receipt.first)
        .add("count", receipt.count)
        .add("head", receipt.head)
        .add("version", receipt.version)
        .add("at", receipt.at)
        .add("fence", fact.fence)
        .add("chain", receipt.chain);
    return object;
  }

  FactObject operator()(const CheckpointFact& fact) const {
    FactObject object;
    const Checkpoint& checkpoint = fact.checkpoint;
    object.add("owner", fact.owner)
        .add("version", checkpoint.version)
        .add("segment", fact.segment)
        .add("position", checkpoint.position)
        .add("at", checkpoint.at)
        .add("reason", checkpoint.reason)
        .add("label", checkpoint.label)
        .add("metadata", checkpoint.metadata)
        .add(checkpoint.tally);
    return object;
  }

  FactObject operator()(const CallFact& fact) const {
    FactObject object;
    const Call& call = fact.call;
    add_call(object, call, call.key);
    object.add("owner", fact.owner)
        .add("segment", fact.segment)
        .add("args", call.args)
        .add("result", call.result)
        .add("provider_id", hex_of(call.provider_id))
        .add("deadline", call.deadline)
        .add("who", call.who)
        .add("why", call.why);
    return object;
  }

  FactObject operator()(const MessageFact& fact) const {
    FactObject object;
    object.add("n", std::uint64_t{number_})
        .add("owner", fact.owner)
        .add("id", fact.message.id.text())
        .add("kind", fact.message.kind)
        .add("codec", static_cast<std::int64_t>(fact.message.body.codec()))
        .add("at", fact.message.at)
        .add("consumed", fact.consumed);
    return object;
  }

  FactObject operator()(const ClaimFact& fact) const {
    FactObject object;
    add_call(object, fact.call,
             fact.call.claimed ? rules::claim_key(*fact.call.claimed) : fact.call.key);
    object.add("session", fact.call.session.text());
    return object;
  }

  FactObject operator()(const ResourceFact& fact) const {
    FactObject object;
    object.add("name", fact.name).add("fence", fact.fence);
    return object;
  }

 private:
  static void add_row(FactObject& object, const SessionFact::Row& row) {
    const SessionSummary& session = row.summary;
    object.add("id", session.id.text())
        .add("created_at", session.created_at)
        .add("updated_at", session.updated_at)
        .add("status", to_string(session.status))
        .add("wait_reason", session.wait_reason)
        .add("wake_at", session.wake_at)
        .add("title", session.title)
        .add("opening", session.opening)
        .add("tags", rules::tags_text(session.tags))
        .add("metadata", session.metadata)
        .add("segment", row.segment)
        .add("head", session.head)
        .add("next", session.next)
        .add("version", session.version)
        .add("commits", row.commits)
        .add("revision", session.revision)
        .add("chain", row.chain)
        .add(session.tally)
        .add("attention", session.attention)
        .add("restored", session.restored)
        .add("fence", row.fence);
    if (!session.parent) return;
    object.add("parent", session.parent->session.text())
        .add("parent_position", session.parent->position)
        .add("lineage",
             std::string_view(session.parent->lineage == Lineage::fork ? "fork" : "child"));
  }

  const std::size_t number_;
};

/// Null: it was erased or consumed, or is no fact that has one.
const Body* body_of(const Fact& fact) {
  if (const auto* entry = std::get_if<Entry>(&fact)) {
    return entry->condition == Condition::erased ? nullptr : &entry->body;
  }
  const auto* message = std::get_if<MessageFact>(&fact);
  return message == nullptr || message->consumed ? nullptr : &message->message.body;
}

/// Of all facts of a slice: its cursor may stand before kinds of which there is nothing.
std::int64_t fact_kind_of(const Fact& fact) {
  constexpr std::array kinds = {FactKind::session, FactKind::segment, FactKind::pruned,
                                FactKind::entry,   FactKind::receipt, FactKind::checkpoint,
                                FactKind::call,    FactKind::waiting, FactKind::claim,
                                FactKind::resource};
  static_assert(kinds.size() == std::variant_size_v<Fact>);
  return static_cast<std::int64_t>(kinds.at(fact.index()));
}

}  // namespace

SentFacts::SentFacts(const FactSlice& slice) {
  if (!slice.facts.empty()) kind_ = fact_kind_of(slice.facts.front());
  Json::Array facts;
  for (const Fact& fact : slice.facts) {
    facts.push_back(std::visit(FactColumns(facts.size() + 1), fact).json());
    const Body* body = body_of(fact);
    const BodyColumns columns = body == nullptr ? BodyColumns{} : columns_of(*body);
    bodies_.push_back(columns.body);
    bytes_.push_back(columns.bytes);
    const auto ref = body == nullptr ? std::nullopt : body->blob();
    if (!ref) continue;
    blobs_.push_back(ref->digest);
    blob_sizes_.push_back(sendable(ref->size));
  }
  facts_ = Json(std::move(facts)).text();
}

void SentFacts::add_to(Params& params) const {
  std::vector<BytesView> blobs;
  blobs.reserve(blobs_.size());
  for (const Digest& blob : blobs_) blobs.push_back(bytes_view(blob));
  params.add(kind_).add(facts_).add(bodies_).add(bytes_).add(blobs).add(blob_sizes_);
}

}  // namespace perdure::postgres
