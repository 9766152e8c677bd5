// PostgreSQL's binary forms: numbers big-endian, arrays as dimensions, then length and bytes of
// each element.

#include "postgres/client/params.hpp"

#include <cstddef>
#include <cstdint>
#include <libpq-fe.h>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "perdure/core/sha256.hpp"
#include "postgres/client/error.hpp"

namespace perdure::postgres {
namespace {

template <class Number>
void append_number(std::string& to, Number number) {
  const auto bits = static_cast<std::make_unsigned_t<Number>>(number);
  for (std::size_t i = sizeof(Number); i-- > 0;) {
    to.push_back(static_cast<char>(bits >> (8 * i) & 0xFF));
  }
}

// The server takes no message of 1 GiB, and answers one by ending the connection. What else is in it is
// small.
constexpr std::size_t value_bytes_max = (std::size_t{1} << 30) - (std::size_t{1} << 20);

int checked_length(std::size_t bytes) {
  if (bytes > value_bytes_max) {
    throw PgError({"54000", "more than 1 GiB at once does not fit into a PostgreSQL store", {}});
  }
  return static_cast<int>(bytes);
}

/// Within an array: its own length, the number of fields, and of each the type, length and bytes.
std::size_t record_bytes(const Params& record) {
  return 2 * sizeof(std::int32_t) * (1 + record.types().size()) + record.bytes();
}

}  // namespace

void append_array_head(std::string& to, Type element, std::size_t count) {
  append_number<std::int32_t>(to, count == 0 ? 0 : 1);  // Dimensions.
  append_number<std::int32_t>(to, 1);                   // There may be nulls.
  append_number<std::uint32_t>(to, static_cast<Oid>(element));
  if (count == 0) return;
  append_number<std::int32_t>(to, checked_length(count));
  append_number<std::int32_t>(to, 1);  // The first index.
}

BytesView bytes_view(const Digest& digest) {
  return {{reinterpret_cast<const char*>(digest.data()), digest.size()}};
}

const char* Params::value(std::size_t index) const {
  const Place& place = places_[index];
  if (place.is_null) return nullptr;
  return place.outside != nullptr ? place.outside : own_.data() + place.offset;
}

Params& Params::add_view(Type type, std::string_view bytes) {
  types_.push_back(static_cast<Oid>(type));
  lengths_.push_back(checked_length(bytes.size()));
  // An empty view may have no data, which would be taken for a null.
  places_.push_back({bytes.empty() ? "" : bytes.data(), 0, false});
  bytes_ += bytes.size();
  return *this;
}

Params& Params::add_copy(Type type, std::string_view bytes) {
  const std::size_t offset = own_.size();
  own_ += bytes;
  return add_own(type, offset);
}

Params& Params::add_own(Type type, std::size_t offset) {
  types_.push_back(static_cast<Oid>(type));
  lengths_.push_back(checked_length(own_.size() - offset));
  places_.push_back({nullptr, offset, false});
  bytes_ += own_.size() - offset;
  return *this;
}

Params& Params::add_null(Type type) {
  types_.push_back(static_cast<Oid>(type));
  lengths_.push_back(0);
  places_.push_back({nullptr, 0, true});
  return *this;
}

Params& Params::add(std::int64_t value) {
  const std::size_t offset = own_.size();
  append_number(own_, value);
  return add_own(Type::bigint, offset);
}

Params& Params::add(bool value) {
  own_.push_back(value ? '\1' : '\0');
  return add_own(Type::boolean, own_.size() - 1);
}

Params& Params::add(std::int16_t value) {
  const std::size_t offset = own_.size();
  append_number(own_, value);
  return add_own(Type::smallint, offset);
}

Type Params::array_of(Type element) {
  if (element == Type::text) return Type::text_array;
  return element == Type::bytea ? Type::bytea_array : Type::bigint_array;
}

void Params::append(std::string_view bytes) {
  append_number<std::int32_t>(own_, checked_length(bytes.size()));
  own_ += bytes;
}

void Params::append(std::int64_t value) {
  append_number<std::int32_t>(own_, sizeof value);
  append_number(own_, value);
}

void Params::append_null() { append_number<std::int32_t>(own_, -1); }

void Params::append_record_to(std::string& array) const {
  append_number<std::int32_t>(array, checked_length(record_bytes(*this) - sizeof(std::int32_t)));
  append_number<std::int32_t>(array, count());
  for (std::size_t i = 0; i < types_.size(); ++i) {
    append_number<std::uint32_t>(array, types_[i]);
    const char* const field = value(i);
    append_number<std::int32_t>(array, field == nullptr ? -1 : lengths_[i]);
    if (field != nullptr) array.append(field, static_cast<std::size_t>(lengths_[i]));
  }
}

// The server accepts the elements' type from us only where that is a built-in one.
std::string array_of_records(std::span<const Params> records) {
  std::string array;
  // Room at once: the bodies of a batch may be large.
  std::size_t room = array_head_bytes;
  for (const Params& record : records) room += record_bytes(record);
  array.reserve(static_cast<std::size_t>(checked_length(room)));
  append_array_head(array, Type::record, records.size());
  for (const Params& record : records) record.append_record_to(array);
  return array;
}

std::string joined_arrays(std::span<const std::string_view> arrays) {
  std::string joined;
  std::size_t room = array_head_bytes;
  for (const std::string_view array : arrays) room += array.size();
  joined.reserve(room);
  append_array_head(joined, Type::record, arrays.size());
  for (const std::string_view array : arrays) joined += array.substr(array_head_bytes);
  return joined;
}

}  // namespace perdure::postgres
