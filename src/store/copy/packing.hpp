// Values as bytes, and back: numbers as eight bytes, the most significant first; texts behind their
// length; what may be absent behind a 0 or a 1; enumerators as numbers.
//
// `fields` (fact_fields.hpp) says once, for both ways, what a value is made of.

#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"

namespace perdure::bundle {

/// The last enumerator of an enum that is packed.
template <class Enum>
inline constexpr Enum last_of = Enum::none;

class Packer {
 public:
  template <class... Values>
  void operator()(const Values&... values) {
    (add(values), ...);
  }
  [[nodiscard]] std::string take() && { return std::move(bytes_); }

 private:
  void add(std::uint64_t number) {
    for (unsigned shift = 64; shift > 0; shift -= 8) {
      bytes_.push_back(static_cast<char>(number >> (shift - 8)));
    }
  }
  void add(std::int64_t number) { add(static_cast<std::uint64_t>(number)); }
  void add(bool value) { add(std::uint64_t{value ? 1U : 0U}); }
  void add(Timestamp time) { add(std::int64_t{time.time_since_epoch().count()}); }
  void add(const std::string& text) {
    add(std::uint64_t{text.size()});
    bytes_ += text;
  }
  void add(const Digest& digest) { bytes_.append(digest.begin(), digest.end()); }
  template <class Tag>
  void add(const Id<Tag>& id) {
    add(id.text());
  }
  template <class Value>
  void add(const std::optional<Value>& value) {
    add(value.has_value());
    if (value) add(*value);
  }
  template <class Value>
  void add(const std::vector<Value>& values) {
    add(std::uint64_t{values.size()});
    for (const Value& value : values) add(value);
  }
  template <class Value>
  void add(const Value& value) {
    if constexpr (std::is_enum_v<Value>) {
      add(static_cast<std::uint64_t>(value));
    } else {
      fields(*this, value);
    }
  }

  std::string bytes_;
};

/// After the first value that cannot be read all others are empty, and `is_whole` is false.
class Unpacker {
 public:
  /// `bytes` must outlive this.
  explicit Unpacker(std::string_view bytes) : rest_(bytes) {}

  template <class... Values>
  void operator()(Values&... values) {
    (get(values), ...);
  }
  [[nodiscard]] bool is_good() const { return good_; }
  /// All was read, and nothing is left.
  [[nodiscard]] bool is_whole() const { return good_ && rest_.empty(); }

 private:
  std::string_view take(std::uint64_t size) {
    if (size > rest_.size()) good_ = false;
    if (!good_) return {};
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  std::uint64_t take_number() {
    std::uint64_t number = 0;
    for (const char byte : take(8)) number = number << 8U | static_cast<unsigned char>(byte);
    return number;
  }
  void require(bool holds) { good_ = good_ && holds; }

  // No store can hold a larger one.
  void get(std::uint64_t& number) {
    number = take_number();
    require(std::cmp_less_equal(number, std::numeric_limits<std::int64_t>::max()));
    if (!good_) number = 0;
  }
  void get(std::int64_t& number) { number = static_cast<std::int64_t>(take_number()); }
  void get(bool& value) {
    const std::uint64_t number = take_number();
    require(number <= 1);
    value = number == 1;
  }
  void get(Timestamp& time) {
    time = Timestamp(Duration(static_cast<std::int64_t>(take_number())));
  }
  void get(std::string& text) { text = take(take_number()); }
  void get(Digest& digest) {
    const std::string_view bytes = take(digest.size());
    if (good_) std::ranges::copy(bytes, digest.begin());
  }
  template <class Tag>
  void get(Id<Tag>& id) {
    std::string text;
    get(text);
    if (text.empty()) return;
    auto parsed = Id<Tag>::parse(std::move(text));
    require(parsed.has_value());
    if (parsed) id = *std::move(parsed);
  }
  template <class Value>
  void get(std::optional<Value>& value) {
    bool is_there = false;
    get(is_there);
    if (!is_there || !good_) return;
    Value found{};
    get(found);
    value = std::move(found);
  }
  template <class Value>
  void get(std::vector<Value>& values) {
    for (std::uint64_t left = take_number(); left > 0 && good_; --left) get(values.emplace_back());
  }
  template <class Value>
  void get(Value& value) {
    if constexpr (std::is_enum_v<Value>) {
      const std::uint64_t number = take_number();
      require(number <= static_cast<std::uint64_t>(last_of<Value>));
      if (good_) value = static_cast<Value>(number);
    } else {
      fields(*this, value);
    }
  }

  std::string_view rest_;
  bool good_ = true;
};

}  // namespace perdure::bundle
