// The parameters of one statement, in PostgreSQL's binary form.
//
// Every whole number is a bigint, every Timestamp a bigint of milliseconds since 1970; SQL casts
// where it wants less. Texts and bytes are not copied: they must stay until the statement was
// answered. Arrays are one value on the wire, so their elements are copied, once.
//
// A temporary std::string is refused by the compiler, because it would be gone too soon.

#pragma once

#include <cstddef>
#include <cstdint>
#include <libpq-fe.h>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"

namespace perdure::postgres {

/// Bytes to be bound as bytea instead of text.
struct BytesView {
  std::string_view bytes;
};

/// `digest` must outlive the view.
[[nodiscard]] BytesView bytes_view(const Digest& digest);

/// The types a parameter may have, by the server's own numbers.
enum class Type : Oid {
  inferred = 0,  ///< By the function that it is handed to.
  boolean = 16,
  bytea = 17,
  bigint = 20,
  smallint = 21,
  text = 25,
  record = 2249,
  boolean_array = 1000,
  bytea_array = 1001,
  smallint_array = 1005,
  text_array = 1009,
  bigint_array = 1016,
};

class Params {
 public:
  Params() = default;
  /// `Params::of(id.text(), head, std::optional<Timestamp>())`.
  template <class... Args>
  [[nodiscard]] static Params of(Args&&... args) {
    Params params;
    params.reserve(sizeof...(args));
    (params.add(std::forward<Args>(args)), ...);
    return params;
  }
  void reserve(std::size_t count);
  /// For what is copied.
  void reserve_bytes(std::size_t bytes) { own_.reserve(bytes); }

  Params& add(std::int64_t value);
  Params& add(std::uint64_t value) { return add(static_cast<std::int64_t>(value)); }
  Params& add(std::uint32_t value) { return add(static_cast<std::int64_t>(value)); }
  Params& add(int value) { return add(static_cast<std::int64_t>(value)); }
  Params& add(bool value);
  Params& add(std::int16_t value);
  Params& add(Timestamp time) { return add(std::int64_t{time.time_since_epoch().count()}); }
  Params& add(Duration time) { return add(std::int64_t{time.count()}); }
  Params& add(std::string_view text) { return add_view(Type::text, text); }
  Params& add(const char* text) { return add(std::string_view(text)); }
  Params& add(const std::string& text) { return add(std::string_view(text)); }
  Params& add(std::string&&) = delete;
  Params& add(BytesView value) { return add_view(Type::bytea, value.bytes); }
  Params& add_copy(BytesView value);
  /// Copied: 32 bytes.
  Params& add(const Digest& digest) { return add_copy(bytes_view(digest)); }
  Params& add_null(Type type);
  /// The last value, a boolean, becomes this one.
  void set_last(bool value) { own_.back() = value ? '\1' : '\0'; }

  /// Null if there is none, with the type that a value would have.
  template <class T>
  Params& add(const std::optional<T>& value) {
    return value ? add(*value) : add_null(type_of(static_cast<const T*>(nullptr)));
  }
  Params& add(std::optional<std::string>&&) = delete;

  Params& add(std::span<const std::int64_t> values);
  Params& add(std::span<const std::uint64_t> values);
  Params& add(std::span<const std::optional<std::int64_t>> values);
  Params& add(std::span<const std::optional<std::uint64_t>> values);
  Params& add(std::span<const std::int16_t> values);
  Params& add(std::span<const std::string_view> values);
  Params& add(std::span<const std::optional<std::string_view>> values);
  Params& add(std::span<const BytesView> values);
  Params& add(std::span<const std::optional<BytesView>> values);
  Params& add(const std::vector<bool>& values);
  /// One value of a type that we made ourselves: its fields in their order, each of its exact type.
  Params& add_record(const Params& fields);
  /// An array of those.
  Params& add_records(std::span<const Params> records);
  template <class T>
  Params& add(const std::vector<T>& values) {
    return add(std::span<const T>(values));
  }

  [[nodiscard]] int count() const { return static_cast<int>(types_.size()); }
  [[nodiscard]] const std::vector<Oid>& types() const { return types_; }
  [[nodiscard]] const std::vector<int>& lengths() const { return lengths_; }
  /// Null for an SQL null.
  [[nodiscard]] const char* value(std::size_t index) const;
  /// Of all values together.
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  static constexpr Type type_of(const std::int64_t*) { return Type::bigint; }
  static constexpr Type type_of(const std::uint64_t*) { return Type::bigint; }
  static constexpr Type type_of(const std::uint32_t*) { return Type::bigint; }
  static constexpr Type type_of(const int*) { return Type::bigint; }
  static constexpr Type type_of(const bool*) { return Type::boolean; }
  static constexpr Type type_of(const Timestamp*) { return Type::bigint; }
  static constexpr Type type_of(const Duration*) { return Type::bigint; }
  static constexpr Type type_of(const std::string_view*) { return Type::text; }
  static constexpr Type type_of(const std::string*) { return Type::text; }
  static constexpr Type type_of(const BytesView*) { return Type::bytea; }
  static constexpr Type type_of(const Digest*) { return Type::bytea; }

  /// Where a value is: outside, or in `own_` from `offset`.
  struct Place {
    const char* outside;
    std::size_t offset;
    bool is_null;
  };

  Params& add_view(Type type, std::string_view bytes);
  /// Whatever was written to `own_` from `offset` on is the next value.
  Params& add_own(Type type, std::size_t offset);
  /// As the server reads a composite value; copied into `to`.
  void append_record_to(std::string& to) const;
  [[nodiscard]] std::size_t record_bytes() const;
  template <class T>
  Params& add_array(Type type, Type element, std::span<const T> values);

  std::vector<Oid> types_;
  std::vector<int> lengths_;
  std::vector<Place> places_;
  std::string own_;
  std::size_t bytes_ = 0;
};

}  // namespace perdure::postgres
