// From rows of a database to the values of the public headers, for every backend that keeps them
// in the same columns.
//
// `Rows` is a backend's own: integer(), number(), text(), string(), is_null(), digest() and time()
// of a column of the current row. Columns are read by number, in the order of `fields`.

#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "rules/fields.hpp"
#include "store/api/lookup.hpp"
#include "store/api/transfer.hpp"

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

/// The columns of a value in the order in which `RowReader` reads them. The columns of a parent are
/// there also if it has none.
class ColumnNames : public Archive<ColumnNames> {
 public:
  /// `alias`: of the table, with its dot. `session`: what stands for the id of a call's session.
  template <class Value>
  [[nodiscard]] static std::string of(std::string_view alias, std::string_view session = {}) {
    ColumnNames names(alias, session);
    Value value{};
    return std::move(names(value).text_);
  }

  template <class Value>
  ColumnNames& operator()(Value& nested) {
    fields(*this, nested);
    return *this;
  }
  template <class Value>
  ColumnNames& operator()(std::optional<Value>& nested) {
    return (*this)(nested.emplace());
  }
  template <class Value>
  ColumnNames& operator()(std::string_view name, Value& /*value*/) {
    return add(alias_, name);
  }
  ColumnNames& operator()(std::string_view name, SessionId& /*id*/) {
    return session_.empty() ? add(alias_, name) : add(session_, {});
  }
  ColumnNames& key(Call& /*call*/) { return add(alias_, "key"); }
  ColumnNames& claim(Call& /*call*/) { return add(alias_, "claimed"); }
  ColumnNames& content(MessageFact& /*fact*/, Body& /*body*/) {
    return add(alias_, "codec").add(alias_, "body");
  }

 private:
  ColumnNames(std::string_view alias, std::string_view session)
      : alias_(alias), session_(session) {}
  ColumnNames& add(std::string_view before, std::string_view name) {
    text_.append(text_.empty() ? "" : ", ").append(before).append(name);
    return *this;
  }

  std::string_view alias_;
  std::string_view session_;
  std::string text_;
};

/// Reads values from the columns that `ColumnNames` lists, from `column` on.
template <class Rows>
class RowReader : public Archive<RowReader<Rows>> {
 public:
  explicit RowReader(const Rows& rows, int column = 0) : rows_(rows), column_(column) {}

  template <class Value>
  RowReader& operator()(Value& nested) {
    fields(*this, nested);
    return *this;
  }
  /// Absent if its first column is null.
  template <class Value>
  RowReader& operator()(std::optional<Value>& nested) {
    const bool is_there = !rows_.is_null(column_);
    Value value{};
    (*this)(value);
    if (is_there) nested = std::move(value);
    return *this;
  }
  template <class Value>
  RowReader& operator()(std::string_view /*name*/, Value& value) {
    get(value, column_++);
    return *this;
  }
  RowReader& key(Call& call) { return (*this)("key", call.key); }
  // What is claimed is not held.
  RowReader& claim(Call& call) {
    (*this)("claimed", call.claimed);
    if (call.claimed) call.key.reset();
    return *this;
  }
  RowReader& content(const MessageFact& /*fact*/, Body& body) {
    const auto codec = static_cast<Codec>(rows_.integer(column_++));
    body = Body::from_stored(codec, rows_.string(column_++));
    return *this;
  }

 private:
  void get(std::int64_t& number, int column) { number = rows_.integer(column); }
  void get(std::uint64_t& number, int column) { number = rows_.number(column); }
  void get(bool& flag, int column) { flag = rows_.integer(column) != 0; }
  void get(std::string& text, int column) { text = rows_.string(column); }
  void get(Timestamp& time, int column) { time = rows_.time(column); }
  void get(Digest& digest, int column) { digest = rows_.digest(column); }
  void get(std::vector<std::string>& tags, int column) { tags = read_tags(rows_.text(column)); }
  void get(Status& status, int column) {
    status = status_from(rows_.text(column)).value_or(Status::paused);
  }
  void get(EffectClass& effect, int column) {
    effect = effect_class_from(rows_.text(column)).value_or(EffectClass::unsafe);
  }
  void get(CallState& state, int column) {
    state = call_state_from(rows_.text(column)).value_or(CallState::in_doubt);
  }
  void get(Lineage& lineage, int column) {
    lineage = rows_.text(column) == "child" ? Lineage::child : Lineage::fork;
  }
  template <class Tag>
  void get(Id<Tag>& id, int column) {
    id = stored_id<Id<Tag>>(rows_.text(column));
  }
  template <class Value>
  void get(std::optional<Value>& value, int column) {
    if (!rows_.is_null(column)) get(value.emplace(), column);
  }

  const Rows& rows_;
  int column_;
};

/// A value from the columns of its `fields`, from `column` on.
template <class Value, class Rows>
[[nodiscard]] Value read_row(const Rows& rows, int column = 0) {
  Value value{};
  RowReader(rows, column)(value);
  return value;
}
template <class Rows>
[[nodiscard]] Tally read_tally(const Rows& rows, int column) {
  return read_row<Tally>(rows, column);
}
/// Who holds it is the backend's to say.
template <class Rows>
[[nodiscard]] SessionSummary read_summary(const Rows& rows) {
  return read_row<SessionSummary>(rows);
}
template <class Rows>
[[nodiscard]] Checkpoint read_checkpoint(const Rows& rows) {
  return read_row<Checkpoint>(rows);
}
template <class Rows>
[[nodiscard]] Call read_call(const Rows& rows) {
  return read_row<Call>(rows);
}
template <class Rows>
[[nodiscard]] Receipt read_receipt(const Rows& rows) {
  return read_row<Receipt>(rows);
}

/// Writes a value as columns: what derives from it has `put` for a whole number, a truth value, a
/// text, bytes, a digest and null (std::nullopt). Bodies, owners and segments are its own as well.
template <class Self>
class ColumnWriter : public Archive<Self> {
 public:
  template <class Value>
  Self& operator()(const Value& nested) {
    fields(this->self(), nested);
    return this->self();
  }
  template <class Value>
  Self& operator()(const std::optional<Value>& nested) {
    return nested ? (*this)(*nested) : this->self();
  }
  template <class Value>
  Self& operator()(std::string_view name, const Value& value) {
    add(name, value);
    return this->self();
  }
  Self& key(const Call& call) { return (*this)("key", call.key); }
  Self& claim(const Call& call) { return (*this)("claimed", call.claimed); }
  Self& content(const Entry& entry, const Body& body) {
    this->self().put("codec", codec_column(entry));
    return this->self().put_body(entry.condition == Condition::erased ? nullptr : &body);
  }
  Self& content(const MessageFact& fact, const Body& body) {
    this->self().put("codec", static_cast<std::int64_t>(body.codec()));
    return this->self().put_body(fact.consumed ? nullptr : &body);
  }
  Self& sparse(const Tally& tally) {
    for (const auto& [name, number] : {std::pair{"turns", tally.turns},
                                       {"steps", tally.steps},
                                       {"tokens_in", tally.tokens_in},
                                       {"tokens_out", tally.tokens_out},
                                       {"cost_micros", tally.cost_micros}}) {
      add(name, unless_zero(number));
    }
    return this->self();
  }

 private:
  template <class Value>
  void add(std::string_view name, const Value& value) {
    if constexpr (std::same_as<Value, Timestamp>) {
      this->self().put(name, std::int64_t{value.time_since_epoch().count()});
    } else if constexpr (std::same_as<Value, Fold>) {
      this->self().put(name, static_cast<std::int64_t>(value));
    } else if constexpr (std::same_as<Value, Lineage>) {
      this->self().put(name, std::string_view(value == Lineage::fork ? "fork" : "child"));
    } else if constexpr (std::is_enum_v<Value>) {
      this->self().put(name, to_string(value));
    } else if constexpr (requires { value.text(); }) {
      this->self().put(name, std::string_view(value.text()));
    } else {
      this->self().put(name, value);
    }
  }
  void add(std::string_view name, const std::vector<std::string>& tags) {
    this->self().put(name, tags_text(tags));
  }
  template <class Value>
  void add(std::string_view name, const std::optional<Value>& value) {
    if (value) {
      add(name, *value);
    } else {
      this->self().put(name, std::nullopt);
    }
  }
};

}  // namespace perdure::rules
