// Counters, to JSON and back.

#include "perdure/runtime/counters.hpp"

#include <cstdint>
#include <fmt/format.h>
#include <limits>
#include <string>
#include <string_view>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/raw_json.hpp"
#include "perdure/store/log.hpp"
#include "values/fields.hpp"

namespace perdure {
namespace {

bool sum_fits(std::int64_t a, std::int64_t b) {
  using Limits = std::numeric_limits<std::int64_t>;
  return b >= 0 ? a <= Limits::max() - b : a >= Limits::min() - b;
}

}  // namespace

std::int64_t Counters::at(std::string_view name) const {
  const auto found = values.find(name);
  return found == values.end() ? 0 : found->second;
}

Result<std::int64_t> add(Counters& counters, std::string_view name, std::int64_t number) {
  auto named = check_name("counter", name, name_bytes_max);
  if (!named) return forward(named);
  const std::int64_t before = counters.at(name);
  if (!sum_fits(before, number)) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("counter \"{}\" would not fit 64 bits", name), std::string(name));
  }
  counters.values.insert_or_assign(std::string(name), before + number);
  return before + number;
}

std::string to_json(const Counters& counters) {
  ObjectWriter numbers;
  for (const auto& [name, number] : counters.values) numbers.add(name, number);
  ObjectWriter writer;
  writer.add_raw("counters", numbers.finish());
  values::add_unknown(writer, counters.unknown);
  return writer.finish();
}

Result<Counters> counters_from_json(std::string_view text) {
  return values::read_value<Counters>(
      text, "set of counters", [](values::Fields& fields, Counters& counters) {
        fields.require("counters");
        fields.take_members("counters", [&](const RawMember& member) -> Result<void> {
          const auto number = parse_json(member.value)->as_int64();
          if (!number) {
            return fail(ErrorCode::invalid_argument,
                        fmt::format("counter \"{}\": expected an integer", member.key));
          }
          counters.values.insert_or_assign(member.key, *number);
          return {};
        });
      });
}

}  // namespace perdure
