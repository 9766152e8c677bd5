// From rows of a database to the values of the public headers, for every backend that keeps them
// in the same columns.
//
// `Rows` is a backend's own: integer(), number(), text(), string(), is_null(), digest(), time()
// and optional_time() of a column of the row it stands on. Columns are read by number, in the
// order that is said beside each reader.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "perdure/core/json.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"

namespace perdure::rules {

/// An id that was checked when it was written.
template <class IdType>
[[nodiscard]] IdType stored_id(std::string_view text) {
  return IdType::parse(std::string(text)).value_or(IdType{});
}

/// An entry's column `codec`. One that was erased says so there, and has no body: a body that is only
/// missing is damage.
[[nodiscard]] inline std::int64_t codec_column(const Entry& entry) {
  const auto codec = static_cast<std::int64_t>(entry.body.codec());
  return entry.condition == Condition::erased ? -1 - codec : codec;
}

/// The codec and the body that a row has, and in what condition they are. `entry` has its hash.
void set_body(Entry& entry, std::int64_t codec_column, std::optional<std::string> body);

/// The JSON array that `tags_text` made.
/// The column of `session` that a list is sorted by.
[[nodiscard]] std::string_view sort_column(SessionSort sort);

[[nodiscard]] std::vector<std::string> read_tags(std::string_view text);
[[nodiscard]] std::string tags_text(const std::vector<std::string>& tags);

/// A total that an entry does not change is stored as nothing at all.
[[nodiscard]] inline std::optional<std::int64_t> unless_zero(std::int64_t number) {
  return number == 0 ? std::nullopt : std::optional(number);
}

template <class Rows>
[[nodiscard]] std::optional<Position> optional_position(const Rows& rows, int column) {
  if (rows.is_null(column)) return std::nullopt;
  return rows.number(column);
}

/// Five columns from `column` on: turns, steps, tokens in and out, cost.
template <class Rows>
[[nodiscard]] Tally read_tally(const Rows& rows, int column) {
  return {.turns = rows.integer(column),
          .steps = rows.integer(column + 1),
          .tokens_in = rows.integer(column + 2),
          .tokens_out = rows.integer(column + 3),
          .cost_micros = rows.integer(column + 4)};
}

/// id, title, opening, tags, metadata, status, wait_reason, wake_at, parent, parent_position,
/// lineage, head, next, version, a tally, attention, revision, created_at, updated_at. Who holds it
/// is the backend's to say.
template <class Rows>
[[nodiscard]] SessionSummary read_summary(const Rows& rows) {
  SessionSummary session;
  session.id = stored_id<SessionId>(rows.text(0));
  session.title = rows.string(1);
  session.opening = rows.string(2);
  session.tags = read_tags(rows.text(3));
  session.metadata = rows.string(4);
  session.status = status_from(rows.text(5)).value_or(Status::paused);
  session.wait_reason = rows.string(6);
  session.wake_at = rows.optional_time(7);
  if (!rows.is_null(8)) {
    session.parent = Parent{.session = stored_id<SessionId>(rows.text(8)),
                            .position = rows.number(9),
                            .lineage = rows.text(10) == "child" ? Lineage::child : Lineage::fork};
  }
  session.head = rows.number(11);
  session.next = rows.number(12);
  session.version = rows.number(13);
  session.tally = read_tally(rows, 14);
  session.attention = rows.integer(19);
  session.revision = rows.number(20);
  session.created_at = rows.time(21);
  session.updated_at = rows.time(22);
  return session;
}

/// version, position, at, reason, label, metadata, a tally.
template <class Rows>
[[nodiscard]] Checkpoint read_checkpoint(const Rows& rows) {
  return {.version = rows.number(0),
          .position = rows.number(1),
          .at = rows.time(2),
          .reason = rows.string(3),
          .label = rows.string(4),
          .metadata = rows.string(5),
          .tally = read_tally(rows, 6)};
}

/// session id, position, args, result, tool, provider_id, effect, key, state, attempts, failures,
/// fence, intended_at, dispatched_at, deadline, settled_at, who, why, claimed.
template <class Rows>
[[nodiscard]] Call read_call(const Rows& rows) {
  Call call;
  call.session = stored_id<SessionId>(rows.text(0));
  call.position = rows.number(1);
  call.args = rows.number(2);
  call.result = optional_position(rows, 3);
  call.tool = rows.string(4);
  call.provider_id = rows.string(5);
  call.effect = effect_class_from(rows.text(6)).value_or(EffectClass::unsafe);
  if (!rows.is_null(7)) call.key = rows.digest(7);
  call.state = call_state_from(rows.text(8)).value_or(CallState::in_doubt);
  call.attempts = rows.integer(9);
  call.failures = rows.integer(10);
  call.fence = rows.number(11);
  call.intended_at = rows.time(12);
  call.dispatched_at = rows.optional_time(13);
  call.deadline = rows.optional_time(14);
  call.settled_at = rows.optional_time(15);
  call.who = rows.string(16);
  call.why = rows.string(17);
  if (!rows.is_null(18)) {
    call.claimed = rows.digest(18);
    call.key.reset();
  }
  return call;
}

/// batch, first, count, head, version, at, chain.
template <class Rows>
[[nodiscard]] Receipt read_receipt(const Rows& rows) {
  return {.batch = stored_id<BatchId>(rows.text(0)),
          .first = rows.number(1),
          .count = rows.number(2),
          .head = rows.number(3),
          .version = optional_position(rows, 4),
          .at = rows.time(5),
          .chain = rows.digest(6)};
}

}  // namespace perdure::rules
