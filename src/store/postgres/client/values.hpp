// The columns of our selects, and how their rows are read; and rows as our functions take them. What
// other backends keep alike is in rules/stored_rows.hpp.

#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "perdure/core/json.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "postgres/client/connection.hpp"
#include "postgres/client/params.hpp"

namespace perdure::postgres {

/// As rules::read_summary reads them, then the holder. $1 is the time that leases are judged by,
/// null for the server's. Completed with a WHERE clause over `s`.
inline constexpr std::string_view select_session =
    "SELECT s.id, s.title, s.opening, s.tags, s.metadata, s.status, s.wait_reason, s.wake_at, "
    "s.parent, s.parent_position, s.lineage, s.head, s.next, s.version, s.turns, s.steps, "
    "s.tokens_in, s.tokens_out, s.cost_micros, s.attention, s.restored, s.revision, s.created_at, "
    "s.updated_at, s.fence, s.owned_since, w.id, w.host, w.pid, w.process, w.ended, "
    "w.until > coalesce($1, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint), s.moved "
    "FROM perdure.session s LEFT JOIN perdure.worker w ON w.num = s.owner ";
[[nodiscard]] SessionSummary read_session(const Rows& rows);

/// fence, since, id, host, pid, process, ended, in time, from `column` on. Empty if it is not held.
[[nodiscard]] std::optional<Holder> read_holder(const Rows& rows, int column);

inline constexpr std::string_view entry_columns =
    "e.position, e.segment, e.channel, e.kind, e.fold, e.codec, e.at, e.turns, e.steps, "
    "e.tokens_in, e.tokens_out, e.cost_micros, e.hash, e.body, e.bytes";
/// From `column` on. Checks the body against its hash.
[[nodiscard]] Entry read_entry(const Rows& rows, int column = 0);

/// From the columns body and bytes, one of which is null.
[[nodiscard]] Body read_body(const Rows& rows, int codec, int body, int bytes);

/// Where a body goes: text that PostgreSQL can hold, or bytes.
struct BodyColumns {
  std::optional<std::string_view> body{};
  std::optional<BytesView> bytes{};
};
[[nodiscard]] BodyColumns columns_of(const Body& body);

/// Text that PostgreSQL can hold: UTF-8 without a zero.
[[nodiscard]] bool is_storable(std::string_view text);
/// What to look for instead of a name that cannot be stored: one that no name can be.
[[nodiscard]] std::string_view searchable(std::string_view name);

/// A number beyond all that are stored is as good as the largest that can be sent.
[[nodiscard]] constexpr std::int64_t sendable(std::uint64_t number) {
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  return static_cast<std::int64_t>(number < most ? number : most);
}

/// How our functions name the kind of a point: 0 the head, 1 a version, 2 a position.
[[nodiscard]] std::int64_t kind_of(Point point);

/// A row as our functions take it in JSON. What it does not have is left out; bytes are hexadecimal.
class JsonRow {
 public:
  JsonRow& add(const char* name, Json value) {
    row_.emplace_back(name, std::move(value));
    return *this;
  }
  JsonRow& add(const char* name, std::int64_t number) { return add(name, Json(number)); }
  JsonRow& add(const char* name, std::uint64_t number) { return add(name, Json(sendable(number))); }
  JsonRow& add(const char* name, Timestamp time) {
    return add(name, Json(std::int64_t{time.time_since_epoch().count()}));
  }
  JsonRow& add(const char* name, const Digest& digest) { return add(name, Json(to_hex(digest))); }
  JsonRow& add(const char* name, BytesView bytes);
  template <class T>
  JsonRow& add(const char* name, const std::optional<T>& value) {
    return value ? add(name, *value) : *this;
  }

  [[nodiscard]] bool is_empty() const { return row_.empty(); }
  [[nodiscard]] Json json() && { return Json(std::move(row_)); }

 private:
  Json::Object row_{};
};

/// Adds what of it is there.
void add_to(JsonRow& row, const Annotation& annotation);

/// A session to be created, as perdure.make_session takes it. Who repeats the creation uses the same
/// nonce.
[[nodiscard]] Json session_row(const NewSession& session, const std::string& nonce);

/// `SELECT * FROM perdure.function($1, …)`, with that many parameters.
[[nodiscard]] std::string call_of(std::string_view function, int count);

/// `select` and `tail` as one statement.
[[nodiscard]] std::string sql(std::string_view select, std::string_view tail);

/// The statement that runs `select` for the session $1, whose number it knows as `n.num`, and fails
/// if there is none, whatever the plan. Finding nothing, it returns one row of nulls.
[[nodiscard]] std::string sql_of_session(std::string_view select, std::string_view tail);

}  // namespace perdure::postgres
