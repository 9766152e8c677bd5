// What a statement returned: all its rows, in memory, in binary form.

#pragma once

#include <cstddef>
#include <cstdint>
#include <libpq-fe.h>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"

namespace perdure::postgres {

/// Stands before its first row. Independent of the connection it came from; one thread at a time.
/// Columns count from 0. A null reads as 0, false or empty; ask is_null() where that matters.
class Rows {
 public:
  explicit Rows(PGresult* result) : result_(result) {}

  /// Moves to the next row; false when there is none left.
  bool next() { return ++row_ < PQntuples(result_.get()); }

  /// Of a smallint, integer, bigint or boolean.
  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] std::uint64_t number(int column) const {
    return static_cast<std::uint64_t>(integer(column));
  }
  [[nodiscard]] bool boolean(int column) const { return integer(column) != 0; }
  /// Of a text or bytea. Valid while this lives, or what it was moved to.
  [[nodiscard]] std::string_view text(int column) const;
  [[nodiscard]] std::string string(int column) const { return std::string(text(column)); }
  [[nodiscard]] bool is_null(int column) const {
    return PQgetisnull(result_.get(), row_, column) != 0;
  }
  /// Zeros where the bytes end early.
  [[nodiscard]] Digest digest(int column) const;
  [[nodiscard]] Timestamp time(int column) const { return Timestamp(Duration(integer(column))); }
  [[nodiscard]] std::optional<Timestamp> optional_time(int column) const;

  /// For the connection, which reads how the statement ended.
  [[nodiscard]] const PGresult* get() const { return result_.get(); }

  /// All rows there are, wherever this stands.
  [[nodiscard]] std::size_t count() const {
    return static_cast<std::size_t>(PQntuples(result_.get()));
  }

 private:
  struct Clearer {
    void operator()(PGresult* result) const { PQclear(result); }
  };

  std::unique_ptr<PGresult, Clearer> result_;
  int row_ = -1;
};

}  // namespace perdure::postgres
