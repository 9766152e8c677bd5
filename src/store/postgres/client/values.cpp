// Columns are read by number, in the order of the select texts in the header. The names of those in JSON
// are those of sql/sessions.sql and sql/commit.sql.

#include "postgres/client/values.hpp"

#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/api/text.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "postgres/client/connection.hpp"
#include "postgres/client/params.hpp"
#include "postgres/client/process.hpp"
#include "rules/moves.hpp"
#include "rules/stored_rows.hpp"

namespace perdure::postgres {

std::optional<Holder> read_holder(const Rows& rows, int column) {
  const int worker = column + 2;
  if (rows.is_null(worker)) return std::nullopt;
  // A store object that is closed, or a process that this machine knows to be gone.
  const bool gone = rows.boolean(worker + 4) || has_ended(rows.text(worker + 3));
  return Holder{.worker = rules::stored_id<WorkerId>(rows.text(worker)),
                .host = rows.string(worker + 1),
                .pid = rows.integer(worker + 2),
                .since = rows.time(column + 1),
                .fence = rows.number(column),
                .alive = rows.boolean(worker + 5) && !gone,
                .gone = gone};
}

std::string select_sessions(std::string_view tail) {
  return fmt::format(
      "SELECT {}, s.fence, s.owned_since, w.id, w.host, w.pid, w.process, w.ended, w.until > "
      "coalesce($1, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint), s.moved "
      "FROM perdure.session s LEFT JOIN perdure.worker w ON w.num = s.owner {}",
      rules::ColumnNames::of<SessionSummary>("s."), tail);
}

SessionSummary read_session(const Rows& rows) {
  SessionSummary session = rules::read_summary(rows);
  session.holder = read_holder(rows, 24);
  session.moved_to = rules::moved_from(rows.text(32)).to.place;
  return session;
}

Body read_body(const Rows& rows, int codec, int body, int bytes) {
  return Body::from_stored(static_cast<Codec>(rows.integer(codec)),
                           rows.is_null(body) ? rows.string(bytes) : rows.string(body));
}

Entry read_entry(const Rows& rows, int column) {
  const int body = column + 13;
  const int bytes = column + 14;
  Entry entry{.position = rows.number(column),
              .segment = rows.number(column + 1),
              .channel = rows.string(column + 2),
              .kind = rows.string(column + 3),
              .fold = rows.integer(column + 4) == 1 ? Fold::replace : Fold::append,
              .hash = rows.digest(column + 12),
              .tally = rules::read_tally(rows, column + 7),
              .at = rows.time(column + 6)};
  std::optional<std::string> text;
  if (!rows.is_null(bytes)) text = rows.string(bytes);
  if (!rows.is_null(body)) text = rows.string(body);
  rules::set_body(entry, rows.integer(column + 5), std::move(text));
  return entry;
}

bool is_storable(std::string_view text) {
  return is_utf8(text) && text.find('\0') == std::string_view::npos;
}

std::string_view searchable(std::string_view name) { return is_storable(name) ? name : "\x01"; }

BodyColumns columns_of(const Body& body) {
  const std::string_view bytes = body.bytes();
  if (body.codec() != Codec::bytes && is_storable(bytes)) return {.body = bytes, .bytes = {}};
  return {.body = {}, .bytes = BytesView{bytes}};
}

std::int64_t kind_of(Point point) {
  if (point.kind() == Point::Kind::head) return 0;
  return point.kind() == Point::Kind::version ? 1 : 2;
}

JsonRow& JsonRow::add(const char* name, BytesView bytes) {
  std::string hex;
  for (const unsigned char byte : bytes.bytes) hex += fmt::format("{:02x}", byte);
  return add(name, Json(std::move(hex)));
}

void add_to(JsonRow& row, const Annotation& annotation) {
  row.add("title", annotation.title).add("opening", annotation.opening);
  if (annotation.tags) row.add("tags", rules::tags_text(*annotation.tags));
  row.add("metadata", annotation.metadata);
}

Json session_row(const NewSession& session, const std::string& nonce) {
  JsonRow row;
  row.add("nonce", nonce)
      .add("id", session.id.text())
      .add("status", to_string(session.status))
      .add("wait_reason", session.wait_reason)
      .add("wake_at", session.wake_at);
  add_to(row, session.annotation);
  if (session.origin) {
    row.add("origin", session.origin->session.text())
        .add("origin_kind", kind_of(session.origin->at))
        .add("origin_number", session.origin->at.number())
        .add("lineage", session.origin->lineage == Lineage::child ? "child" : "fork");
  }
  return std::move(row).json();
}

std::string call_of(std::string_view function, int count) {
  std::string text = fmt::format("SELECT * FROM perdure.{}(", function);
  for (int i = 1; i <= count; ++i) text += fmt::format("{}${}", i == 1 ? "" : ", ", i);
  return text + ")";
}

std::string sql(std::string_view select, std::string_view tail) {
  return std::string(select).append(tail);
}

std::string sql_of_session(std::string_view select, std::string_view tail) {
  return std::string("SELECT x.* FROM perdure.require_session($1) n(num) LEFT JOIN LATERAL (")
      .append(select)
      .append(tail)
      .append(") x ON true");
}

}  // namespace perdure::postgres
