// Values as bytes, and back: numbers as eight bytes, the most significant first; texts behind their
// length; what may be absent behind a 0 or a 1; enumerators as numbers. What a value is made of is
// said by rules/fields.hpp.
//
// Facts of a slice are of one kind, so it is written once: as the place of its type in `Fact`,
// which must therefore not change.

#include "copy/fact_codec.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "rules/fields.hpp"
#include "store/api/transfer.hpp"

namespace perdure::bundle {

namespace {

/// The last enumerator of an enum that is packed.
template <class Enum>
inline constexpr Enum last_of = Enum::none;

template <>
inline constexpr auto last_of<Status> = Status::cancelled;
template <>
inline constexpr auto last_of<Lineage> = Lineage::child;
template <>
inline constexpr auto last_of<Fold> = Fold::replace;
template <>
inline constexpr auto last_of<Codec> = Codec::blob;
template <>
inline constexpr auto last_of<CallState> = CallState::cancelled;
template <>
inline constexpr auto last_of<EffectClass> = EffectClass::unsafe;

/// Which of a call's two keys is there, if one is.
enum class KeyKind : std::uint64_t { none, held, claimed };
template <>
inline constexpr auto last_of<KeyKind> = KeyKind::claimed;

class Packer : public rules::Archive<Packer> {
 public:
  template <class Value>
  Packer& operator()(const Value& value) {
    add(value);
    return *this;
  }
  template <class Value>
  Packer& operator()(std::string_view /*name*/, const Value& value) {
    return (*this)(value);
  }
  Packer& key(const Call& call) {
    (*this)(call.key ? KeyKind::held : call.claimed ? KeyKind::claimed : KeyKind::none);
    if (call.key || call.claimed) add(call.key ? *call.key : *call.claimed);
    return *this;
  }
  template <class HasBody>
  Packer& content(const HasBody& /*fact*/, const Body& body) {
    return (*this)(body.codec())(body.bytes());
  }
  Packer& condition(const Entry& entry) { return (*this)(entry.condition == Condition::erased); }
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
class Unpacker : public rules::Archive<Unpacker> {
 public:
  /// `bytes` must outlive this.
  explicit Unpacker(std::string_view bytes) : rest_(bytes) {}

  template <class Value>
  Unpacker& operator()(Value& value) {
    get(value);
    return *this;
  }
  template <class Value>
  Unpacker& operator()(std::string_view /*name*/, Value& value) {
    return (*this)(value);
  }
  Unpacker& key(Call& call) {
    KeyKind kind = KeyKind::none;
    get(kind);
    if (kind != KeyKind::none) get((kind == KeyKind::held ? call.key : call.claimed).emplace());
    return *this;
  }
  template <class HasBody>
  Unpacker& content(const HasBody& /*fact*/, Body& body) {
    Codec codec = Codec::bytes;
    std::string bytes;
    (*this)(codec)(bytes);
    body = Body::from_stored(codec, std::move(bytes));
    return *this;
  }
  // Whether a body is damaged follows from its hash.
  Unpacker& condition(Entry& entry) {
    bool is_erased = false;
    get(is_erased);
    if (is_erased) {
      entry.condition = Condition::erased;
    } else if (sha256(entry.body.bytes()) != entry.hash) {
      entry.condition = Condition::damaged;
    }
    return *this;
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

template <std::size_t index>
Fact read_fact(Unpacker& unpack) {
  std::variant_alternative_t<index, Fact> fact;
  unpack(fact);
  return fact;
}

template <std::size_t... indices>
constexpr auto readers(std::index_sequence<indices...> /*all*/) {
  return std::array{&read_fact<indices>...};
}

constexpr auto read_by_type = readers(std::make_index_sequence<std::variant_size_v<Fact>>());

}  // namespace

std::string packed(std::initializer_list<std::uint64_t> numbers) {
  Packer pack;
  for (const std::uint64_t number : numbers) pack(number);
  return std::move(pack).take();
}

std::string pack(const FactSlice& slice) {
  Packer pack;
  pack(slice.from)(slice.next)(std::uint64_t{slice.facts.size()});
  if (!slice.facts.empty()) pack(std::uint64_t{slice.facts.front().index()});
  for (const Fact& fact : slice.facts) {
    std::visit([&](const auto& value) { pack(value); }, fact);
  }
  return std::move(pack).take();
}

std::optional<FactSlice> unpack(std::string_view bytes) {
  Unpacker unpack(bytes);
  FactSlice slice;
  std::uint64_t count = 0;
  std::uint64_t type = 0;
  unpack(slice.from)(slice.next)(count);
  if (count > 0) unpack(type);
  if (!unpack.is_good() || type >= read_by_type.size()) return std::nullopt;
  for (; count > 0 && unpack.is_good(); --count)
    slice.facts.push_back(read_by_type.at(type)(unpack));
  if (!unpack.is_whole()) return std::nullopt;
  return slice;
}

}  // namespace perdure::bundle
