// The parameters of one statement, in PostgreSQL's binary form.
//
// Every whole number is a bigint, every Timestamp a bigint of milliseconds since 1970; SQL casts
// where it wants less. Texts and bytes are not copied: they must stay until the statement was
// answered. Temporary strings and arrays are copied, once.

#pragma once

#include <concepts>
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
  bytea_array = 1001,
  text_array = 1009,
  bigint_array = 1016,
};

/// The type of our values as parameters, and so of a null of theirs.
template <class T>
inline constexpr Type type_of = Type::bigint;
template <>
inline constexpr Type type_of<bool> = Type::boolean;
template <>
inline constexpr Type type_of<std::string> = Type::text;
template <>
inline constexpr Type type_of<std::string_view> = Type::text;
template <>
inline constexpr Type type_of<BytesView> = Type::bytea;
template <>
inline constexpr Type type_of<Digest> = Type::bytea;

/// The beginning of an array in its binary form: of this many bytes, unless it is empty.
inline constexpr std::size_t array_head_bytes = 20;
void append_array_head(std::string& to, Type element, std::size_t count);

class Params {
 public:
  Params() = default;
  /// `Params::of(id.text(), head, std::optional<Timestamp>())`.
  template <class... Args>
  [[nodiscard]] static Params of(Args&&... args) {
    Params params;
    (params.add(std::forward<Args>(args)), ...);
    return params;
  }

  Params& add(std::int64_t value);
  template <std::integral Number>
  Params& add(Number value) {
    return add(static_cast<std::int64_t>(value));
  }
  Params& add(bool value);
  Params& add(std::int16_t value);
  Params& add(Timestamp time) { return add(std::int64_t{time.time_since_epoch().count()}); }
  Params& add(Duration time) { return add(std::int64_t{time.count()}); }
  Params& add(std::string_view text) { return add_view(Type::text, text); }
  Params& add(const char* text) { return add(std::string_view(text)); }
  Params& add(std::string&& text) { return add_copy(Type::text, text); }
  Params& add(BytesView value) { return add_view(Type::bytea, value.bytes); }
  /// Copied: 32 bytes.
  Params& add(const Digest& digest) { return add_copy(Type::bytea, bytes_view(digest).bytes); }
  Params& add_null(Type type);

  /// Null if there is none, with the type that a value would have.
  template <class T>
  Params& add(const std::optional<T>& value) {
    return value ? add(*value) : add_null(type_of<T>);
  }
  template <class T>
  Params& add(std::optional<T>&& value) {
    return value ? add(*std::move(value)) : add_null(type_of<T>);
  }

  /// An array of whole numbers, texts or bytes, some of which may be null.
  template <class T>
  Params& add(std::span<const T> values) {
    return add_array(type_of_each(static_cast<const T*>(nullptr)), values.size(), [&] {
      for (const T& value : values) append(value);
    });
  }
  template <class T>
  Params& add(const std::vector<T>& values) {
    return add(std::span<const T>(values));
  }
  /// An array as array_of_records() or joined_arrays() wrote it.
  Params& add_records(std::string_view array) { return add_view(Type::inferred, array); }

  [[nodiscard]] int count() const { return static_cast<int>(types_.size()); }
  [[nodiscard]] const std::vector<Oid>& types() const { return types_; }
  [[nodiscard]] const std::vector<int>& lengths() const { return lengths_; }
  /// Null for an SQL null.
  [[nodiscard]] const char* value(std::size_t index) const;
  /// Of all values together.
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  /// The fields of a composite value, each with its type, as it is within an array.
  void append_record_to(std::string& array) const;

 private:
  /// Where a value is: outside, or in `own_` from `offset`.
  struct Place {
    const char* outside;
    std::size_t offset;
    bool is_null;
  };

  template <class T>
  static constexpr Type type_of_each(const T*) {
    return type_of<T>;
  }
  template <class T>
  static constexpr Type type_of_each(const std::optional<T>*) {
    return type_of<T>;
  }

  Params& add_view(Type type, std::string_view bytes);
  Params& add_copy(Type type, std::string_view bytes);
  /// Whatever was written to `own_` from `offset` on is the next value.
  Params& add_own(Type type, std::size_t offset);
  template <class Write>
  Params& add_array(Type element, std::size_t count, Write write) {
    const std::size_t offset = own_.size();
    append_array_head(own_, element, count);
    write();
    return add_own(array_of(element), offset);
  }
  static Type array_of(Type element);
  /// One element: its length and its bytes.
  void append(std::string_view bytes);
  void append(BytesView value) { append(value.bytes); }
  void append(std::int64_t value);
  void append(std::uint64_t value) { append(static_cast<std::int64_t>(value)); }
  template <class T>
  void append(const std::optional<T>& value) {
    value ? append(*value) : append_null();
  }
  void append_null();

  std::vector<Oid> types_;
  std::vector<int> lengths_;
  std::vector<Place> places_;
  std::string own_;
  std::size_t bytes_ = 0;
};

/// An array of a composite type of ours: of each its fields in their order, of its exact type.
[[nodiscard]] std::string array_of_records(std::span<const Params> records);
/// Several such arrays of one record as one array.
[[nodiscard]] std::string joined_arrays(std::span<const std::string_view> arrays);

}  // namespace perdure::postgres
