// The rules are those that a store has for what it is handed by a caller.

#include "bundle/fact_check.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <variant>

#include "core/api/text.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/ownership.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "rules/checks.hpp"
#include "rules/soundness.hpp"
#include "rules/stored_session.hpp"
#include "store/api/transfer.hpp"

namespace perdure::bundle {

namespace {

/// With room for all the jumps that fences make from store to store.
constexpr Fence fence_max = Fence{1} << 62U;

Result<void> require(bool holds, std::string_view otherwise) {
  if (holds) return {};
  return fail(ErrorCode::corrupted, std::string(otherwise));
}

Result<void> check_positions(std::initializer_list<Position> positions) {
  return require(std::ranges::max(positions) <= rules::position_max + 1,
                 "a position is beyond all that a session can have");
}

Result<void> check_text(std::string_view text, std::size_t bytes_max) {
  return require(text.size() <= bytes_max && is_utf8(text) && !text.contains('\0'),
                 "a text is too long, or is none");
}

Result<void> check_call(const Call& call) {
  if (auto named = check_name("tool name", call.tool, name_bytes_max); !named) return named;
  auto positions = check_positions({call.position, call.args, call.result.value_or(0)});
  if (!positions) return positions;
  if (auto who = check_text(call.who, text_bytes_max); !who) return who;
  if (auto why = check_text(call.why, text_bytes_max); !why) return why;
  return require(!call.session.empty() && call.fence <= fence_max &&
                     call.provider_id.size() <= text_bytes_max && call.attempts >= 0 &&
                     call.failures >= 0,
                 "a call is such as no store has");
}

class FactCheck {
 public:
  Result<void> operator()(const SessionFact& fact) const {
    if (!fact.row) return {};
    const SessionSummary& row = fact.row->summary;
    NewSession made{.id = row.id};
    made.annotation = {
        .title = row.title, .opening = row.opening, .tags = row.tags, .metadata = row.metadata};
    made.status = row.status;
    made.wait_reason = row.wait_reason;
    made.wake_at = row.wake_at;
    if (auto checked = rules::check(made); !checked) return checked;
    auto positions =
        check_positions({row.head, row.next, row.parent ? row.parent->position : Position{0}});
    if (!positions) return positions;
    return require((!row.parent || !row.parent->session.empty()) && row.attention >= 0 &&
                       fact.row->fence <= fence_max,
                   "a session is such as no store has");
  }
  Result<void> operator()(const SegmentFact& fact) const {
    return check_positions({fact.first, fact.parent_position});
  }
  Result<void> operator()(const PrunedFact& fact) const {
    if (auto positions = check_positions({fact.first, fact.upto}); !positions) return positions;
    constexpr std::int64_t sum_max = 1'000 * tally_max;
    const Tally& tally = fact.tally;
    const bool is_possible = std::ranges::all_of(
        std::initializer_list<std::int64_t>{tally.turns, tally.steps, tally.tokens_in,
                                            tally.tokens_out, tally.cost_micros},
        [](std::int64_t part) { return part <= sum_max && part >= -sum_max; });
    return require(is_possible && fact.first < fact.upto,
                   "what was pruned is such as no store has");
  }
  Result<void> operator()(const Entry& entry) const {
    if (auto channel = check_name("channel", entry.channel, name_bytes_max); !channel) {
      return channel;
    }
    if (auto kind = check_name("kind", entry.kind, name_bytes_max); !kind) return kind;
    return require(entry.position >= 1 && entry.position <= rules::position_max &&
                       entry.body.bytes().size() <= body_bytes_max &&
                       rules::is_possible(entry.tally) &&
                       (entry.condition != Condition::erased || entry.body.bytes().empty()),
                   "an entry is such as no store has");
  }
  Result<void> operator()(const ReceiptFact& fact) const {
    const Receipt& receipt = fact.receipt;
    auto positions = check_positions({receipt.first, receipt.count, receipt.head});
    if (!positions) return positions;
    return require(!receipt.batch.empty(), "a receipt is of no batch");
  }
  Result<void> operator()(const CheckpointFact& fact) const {
    const Checkpoint& checkpoint = fact.checkpoint;
    if (auto position = check_positions({checkpoint.position}); !position) return position;
    if (auto reason = check_text(checkpoint.reason, name_bytes_max); !reason) return reason;
    if (auto label = check_text(checkpoint.label, name_bytes_max); !label) return label;
    const auto json = parse_json(checkpoint.metadata);
    return require(checkpoint.metadata.size() <= metadata_bytes_max && json && json->is_object(),
                   "the metadata of a checkpoint is not a JSON object");
  }
  Result<void> operator()(const CallFact& fact) const { return check_call(fact.call); }
  Result<void> operator()(const MessageFact& fact) const {
    const InboxMessage& message = fact.message;
    if (!fact.consumed) {
      return rules::check(NewInboxMessage{.session = message.session,
                                          .id = message.id,
                                          .kind = message.kind,
                                          .body = message.body});
    }
    if (auto kind = check_name("kind", message.kind, name_bytes_max); !kind) return kind;
    return require(!message.id.empty() && message.body.bytes().empty(),
                   "a message is such as no store has");
  }
  Result<void> operator()(const ClaimFact& fact) const {
    if (auto checked = check_call(fact.call); !checked) return checked;
    return require(fact.call.key || fact.call.claimed, "a claim is of no key");
  }
  Result<void> operator()(const ResourceFact& fact) const {
    if (auto named = rules::check_resource(fact.name); !named) return named;
    return require(fact.fence <= fence_max, "a fence is beyond all that a store gives");
  }
};

}  // namespace

Result<void> check(const Fact& fact) { return std::visit(FactCheck(), fact); }

}  // namespace perdure::bundle
