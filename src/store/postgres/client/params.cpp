// PostgreSQL's binary forms: numbers big-endian, arrays as dimensions, then length and bytes of
// each element.

#include "postgres/client/params.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "perdure/core/sha256.hpp"
#include "postgres/client/error.hpp"

namespace perdure::postgres {
namespace {

constexpr std::size_t array_head_bytes = 20;
constexpr std::size_t element_head_bytes = 4;
constexpr std::size_t record_head_bytes = 4;
constexpr std::size_t field_head_bytes = 8;

template <class Number>
void append_number(std::string& to, Number number) {
  auto bits = static_cast<std::make_unsigned_t<Number>>(number);
  char bytes[sizeof(Number)];
  for (std::size_t i = sizeof(Number); i-- > 0;) {
    bytes[i] = static_cast<char>(bits & 0xFF);
    if constexpr (sizeof(Number) > 1) bits = static_cast<decltype(bits)>(bits >> 8);
  }
  to.append(bytes, sizeof(Number));
}

// The protocol counts in 31 bits; the server takes no value above 1 GB anyway.
int checked_length(std::size_t bytes) {
  if (bytes > std::numeric_limits<std::int32_t>::max()) {
    throw PgError({"54000", "a value of more than 2 GiB does not fit into a PostgreSQL store", {}});
  }
  return static_cast<int>(bytes);
}

void append_element(std::string& to, std::string_view bytes) {
  append_number<std::int32_t>(to, checked_length(bytes.size()));
  to.append(bytes);
}
void append_element(std::string& to, BytesView value) { append_element(to, value.bytes); }
void append_element(std::string& to, std::int64_t value) {
  append_number<std::int32_t>(to, sizeof value);
  append_number(to, value);
}
void append_element(std::string& to, std::uint64_t value) {
  append_element(to, static_cast<std::int64_t>(value));
}
void append_element(std::string& to, std::int16_t value) {
  append_number<std::int32_t>(to, sizeof value);
  append_number(to, value);
}
template <class T>
void append_element(std::string& to, const std::optional<T>& value) {
  if (value) return append_element(to, *value);
  append_number<std::int32_t>(to, -1);
}

template <class T>
std::size_t payload(const T& /*number*/) {
  return sizeof(T);
}
std::size_t payload(std::string_view text) { return text.size(); }
std::size_t payload(BytesView value) { return value.bytes.size(); }
template <class T>
std::size_t payload(const std::optional<T>& value) {
  return value ? payload(*value) : 0;
}

void append_array_head(std::string& to, Type element, std::size_t count) {
  append_number<std::int32_t>(to, count == 0 ? 0 : 1);  // Dimensions.
  append_number<std::int32_t>(to, 1);                   // There may be nulls.
  append_number<std::uint32_t>(to, static_cast<Oid>(element));
  if (count == 0) return;
  append_number<std::int32_t>(to, checked_length(count));
  append_number<std::int32_t>(to, 1);  // The first index.
}

}  // namespace

BytesView bytes_view(const Digest& digest) {
  return {{reinterpret_cast<const char*>(digest.data()), digest.size()}};
}

void Params::reserve(std::size_t count) {
  types_.reserve(count);
  lengths_.reserve(count);
  places_.reserve(count);
  own_.reserve(count * sizeof(std::int64_t));
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

Params& Params::add_copy(BytesView value) {
  const std::size_t offset = own_.size();
  own_ += value.bytes;
  return add_own(Type::bytea, offset);
}

template <class T>
Params& Params::add_array(Type type, Type element, std::span<const T> values) {
  const std::size_t offset = own_.size();
  std::size_t size = array_head_bytes;
  for (const T& value : values) size += element_head_bytes + payload(value);
  // Exactly once: the bodies of a batch may be large.
  if (own_.capacity() < offset + size) own_.reserve(offset + size);
  append_array_head(own_, element, values.size());
  for (const T& value : values) append_element(own_, value);
  return add_own(type, offset);
}

Params& Params::add(std::span<const std::int64_t> values) {
  return add_array(Type::bigint_array, Type::bigint, values);
}
Params& Params::add(std::span<const std::uint64_t> values) {
  return add_array(Type::bigint_array, Type::bigint, values);
}
Params& Params::add(std::span<const std::optional<std::int64_t>> values) {
  return add_array(Type::bigint_array, Type::bigint, values);
}
Params& Params::add(std::span<const std::optional<std::uint64_t>> values) {
  return add_array(Type::bigint_array, Type::bigint, values);
}
Params& Params::add(std::span<const std::int16_t> values) {
  return add_array(Type::smallint_array, Type::smallint, values);
}
Params& Params::add(std::span<const std::string_view> values) {
  return add_array(Type::text_array, Type::text, values);
}
Params& Params::add(std::span<const std::optional<std::string_view>> values) {
  return add_array(Type::text_array, Type::text, values);
}
Params& Params::add(std::span<const BytesView> values) {
  return add_array(Type::bytea_array, Type::bytea, values);
}
Params& Params::add(std::span<const std::optional<BytesView>> values) {
  return add_array(Type::bytea_array, Type::bytea, values);
}

Params& Params::add(const std::vector<bool>& values) {
  const std::size_t offset = own_.size();
  append_array_head(own_, Type::boolean, values.size());
  for (const bool value : values) append_element(own_, std::string_view(value ? "\1" : "\0", 1));
  return add_own(Type::boolean_array, offset);
}

std::size_t Params::record_bytes() const {
  return record_head_bytes + types_.size() * field_head_bytes + bytes_;
}

void Params::append_record_to(std::string& to) const {
  append_number<std::int32_t>(to, count());
  for (std::size_t i = 0; i < types_.size(); ++i) {
    append_number<std::uint32_t>(to, types_[i]);
    const char* const field = value(i);
    append_number<std::int32_t>(to, field == nullptr ? -1 : lengths_[i]);
    if (field != nullptr) to.append(field, static_cast<std::size_t>(lengths_[i]));
  }
}

Params& Params::add_record(const Params& fields) {
  const std::size_t offset = own_.size();
  fields.append_record_to(own_);
  return add_own(Type::inferred, offset);
}

// The server takes our word for the elements' type only where that is a built-in one.
Params& Params::add_records(std::span<const Params> records) {
  const std::size_t offset = own_.size();
  std::size_t size = array_head_bytes;
  for (const Params& record : records) size += element_head_bytes + record.record_bytes();
  if (own_.capacity() < offset + size) own_.reserve(offset + size);
  append_array_head(own_, Type::record, records.size());
  for (const Params& record : records) {
    append_number<std::int32_t>(own_, checked_length(record.record_bytes()));
    record.append_record_to(own_);
  }
  return add_own(Type::inferred, offset);
}

}  // namespace perdure::postgres
