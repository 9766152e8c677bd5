// Facts of a slice are of one kind, so that kind stands once: as the place of its type in `Fact`,
// which must therefore not change.

#include "copy/fact_codec.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "copy/fact_fields.hpp"
#include "copy/packing.hpp"
#include "store/api/transfer.hpp"

namespace perdure::bundle {

namespace {

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

std::string pack(const FactSlice& slice) {
  Packer pack;
  pack(slice.from, slice.next, std::uint64_t{slice.facts.size()});
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
  unpack(slice.from, slice.next, count);
  if (count > 0) unpack(type);
  if (!unpack.is_good() || type >= read_by_type.size()) return std::nullopt;
  for (; count > 0 && unpack.is_good(); --count)
    slice.facts.push_back(read_by_type.at(type)(unpack));
  if (!unpack.is_whole()) return std::nullopt;
  return slice;
}

}  // namespace perdure::bundle
