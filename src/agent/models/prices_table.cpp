// A user's table of prices. YAML, of which JSON is a part; amounts are read as decimal text, because
// a price is not a floating-point number.

#include <algorithm>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include <yaml-cpp/yaml.h>

#include "perdure/agent/prices.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/money.hpp"

namespace perdure {
namespace {

std::unexpected<Error> bad_table(const YAML::Node& where, const std::string& what) {
  return fail(ErrorCode::invalid_argument,
              "prices, line " + std::to_string(where.Mark().line + 1) + ": " + what);
}

std::int64_t* field_of(Price& price, std::string_view key) {
  if (key == "input") return &price.input;
  if (key == "output") return &price.output;
  if (key == "cache_read") return &price.cache_read;
  if (key == "cache_write") return &price.cache_write;
  return nullptr;
}

Result<Price> price_from(const YAML::Node& node, const std::string& model) {
  if (!node.IsMap()) return bad_table(node, model + " must have input and output");
  constexpr std::int64_t missing = -1;
  Price price{missing, missing, missing, missing};
  for (const auto& member : node) {
    const auto key = member.first.as<std::string>();
    std::int64_t* const field = field_of(price, key);
    if (field == nullptr) {
      return bad_table(member.first, "nobody knows \"" + key +
                                         "\"; there are input, output, cache_read, cache_write");
    }
    const auto micros =
        member.second.IsScalar() ? micros_from_dollars(member.second.Scalar()) : std::nullopt;
    if (!micros) {
      return bad_table(member.second, key + " must be dollars per million tokens, like 2.25");
    }
    if (*field != missing) return bad_table(member.first, key + " is there twice");
    *field = *micros;
  }
  if (price.input == missing || price.output == missing) {
    return bad_table(node, model + " must have input and output");
  }
  if (price.cache_read == missing) price.cache_read = price.input;
  if (price.cache_write == missing) price.cache_write = price.input;
  return price;
}

using Listing = std::pair<std::string, Price>;

Result<std::vector<Listing>> table_from(const YAML::Node& root) {
  std::vector<Listing> table;
  if (!root.IsMap()) return bad_table(root, "must be models and their prices");
  for (const auto& member : root) {
    auto model = member.first.as<std::string>();
    if (std::ranges::find(table, model, &Listing::first) != table.end()) {
      return bad_table(member.first, model + " is there twice");
    }
    auto price = price_from(member.second, model);
    if (!price) return forward(price);
    table.emplace_back(std::move(model), *price);
  }
  return table;
}

}  // namespace

Result<void> Prices::override_with(std::string_view text) {
  try {
    auto table = table_from(YAML::Load(std::string(text)));
    if (!table) return forward(table);
    for (auto& [model, price] : *table) set(std::move(model), price);
    return {};
  } catch (const YAML::Exception& error) {
    return fail(ErrorCode::invalid_argument,
                "prices, line " + std::to_string(error.mark.line + 1) + ": " + error.msg);
  }
}

}  // namespace perdure
