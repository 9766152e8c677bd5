// Columns are read by number, in the order of the select texts beside each reader.

#include "sqlite/rows.hpp"

#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/body.hpp"
#include "perdure/store/commit.hpp"
#include "perdure/store/entry.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/ownership.hpp"
#include "perdure/store/sessions.hpp"
#include "sqlite/connection.hpp"
#include "sqlite/workers.hpp"

namespace perdure::sqlite {
namespace {

std::vector<std::string> read_tags(std::string_view text) {
  std::vector<std::string> tags;
  const auto parsed = parse_json(text);
  if (!parsed || parsed->as_array() == nullptr) return tags;
  for (const Json& tag : *parsed->as_array()) {
    if (const std::string* name = tag.as_string()) tags.push_back(*name);
  }
  return tags;
}

std::optional<Holder> read_holder(const Rows& rows, const Workers& workers) {
  constexpr int fence = 23;
  constexpr int worker = 25;
  if (rows.is_null(worker)) return std::nullopt;
  const WorkerRow row{.number = rows.integer(worker),
                      .boot = rows.string(worker + 4),
                      .until = Uptime(rows.integer(worker + 5))};
  return Holder{.worker = stored_id<WorkerId>(rows.text(worker + 1)),
                .host = rows.string(worker + 2),
                .pid = rows.integer(worker + 3),
                .since = rows.time(fence + 1),
                .fence = rows.number(fence),
                .alive = workers.is_alive(row),
                .gone = !workers.has_process(row)};
}

std::optional<Position> optional_position(const Rows& rows, int column) {
  if (rows.is_null(column)) return std::nullopt;
  return rows.number(column);
}

}  // namespace

Tally read_tally(const Rows& rows, int column) {
  return {.turns = rows.integer(column),
          .steps = rows.integer(column + 1),
          .tokens_in = rows.integer(column + 2),
          .tokens_out = rows.integer(column + 3),
          .cost_micros = rows.integer(column + 4)};
}

SessionSummary read_session(const Rows& rows, const Workers& workers) {
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
  session.holder = read_holder(rows, workers);
  session.restored = rows.integer(31) != 0;
  return session;
}

Entry read_entry(const Rows& rows) {
  const auto key = rows.number(0);
  Entry entry{.position = key & 0xFFFF'FFFFU,
              .segment = key >> 32U,
              .channel = rows.string(1),
              .kind = rows.string(2),
              .fold = rows.integer(3) == 1 ? Fold::replace : Fold::append,
              .body = Body::from_stored(static_cast<Codec>(rows.integer(4)), rows.string(12)),
              .hash = rows.digest(11),
              .tally = read_tally(rows, 6),
              .at = rows.time(5),
              .condition = Condition::intact};
  if (rows.is_null(12)) {
    entry.condition = Condition::erased;
  } else if (sha256(entry.body.bytes()) != entry.hash) {
    entry.condition = Condition::damaged;
  }
  return entry;
}

Checkpoint read_checkpoint(const Rows& rows) {
  return {.version = rows.number(0),
          .position = rows.number(1),
          .at = rows.time(2),
          .reason = rows.string(3),
          .label = rows.string(4),
          .metadata = rows.string(5),
          .tally = read_tally(rows, 6)};
}

Call read_call(const Rows& rows) {
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
  return call;
}

Receipt read_receipt(const Rows& rows) {
  return {.batch = stored_id<BatchId>(rows.text(0)),
          .first = rows.number(1),
          .count = rows.number(2),
          .head = rows.number(3),
          .version = optional_position(rows, 4),
          .at = rows.time(5),
          .chain = rows.digest(6)};
}

std::string tags_text(const std::vector<std::string>& tags) {
  Json::Array array(tags.begin(), tags.end());
  return Json(std::move(array)).text();
}

Result<void> require_blob(Connection& db, const Body& body) {
  const auto ref = body.blob();
  if (!ref) return {};
  Rows rows =
      db.query("SELECT 1 FROM blob WHERE hash = ? AND size = ?", blob_view(ref->digest), ref->size);
  if (rows.next()) return {};
  return fail(ErrorCode::invalid_argument,
              fmt::format("blob {} was not put before it was named", to_hex(ref->digest)));
}

std::int64_t next_number(Connection& db, std::string_view counter) {
  Rows rows = db.query("UPDATE meta SET value = value + 1 WHERE key = ? RETURNING value", counter);
  if (!rows.next()) throw SqliteError(SQLITE_CORRUPT, "a counter of the store is missing");
  const std::int64_t number = rows.integer(0);
  rows.next();
  return number;
}

std::string sql(std::string_view select, std::string_view tail) {
  return std::string(select).append(tail);
}

}  // namespace perdure::sqlite
