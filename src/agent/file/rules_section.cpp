// What the agent may do, how much it may cost, and what is done in doubt.

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "file/fields.hpp"
#include "file/reading.hpp"
#include "file/sections.hpp"
#include "perdure/agent/agent_file.hpp"
#include "perdure/agent/on_change.hpp"
#include "perdure/agent/permissions.hpp"
#include "perdure/agent/prices.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/money.hpp"
#include "perdure/runtime/policy.hpp"

namespace perdure::agent_file {
namespace {

Permit permit_from(const std::string& word) {
  if (word == "allow") return Permit::allow;
  return word == "deny" ? Permit::deny : Permit::ask;
}

std::vector<PermitRule> rules_from(const Fields& fields, const char* key) {
  std::vector<PermitRule> rules;
  for (const auto& [pattern, permit] : fields.members(key)) {
    rules.push_back({.pattern = pattern, .permit = permit_from(*permit.as_string())});
  }
  return rules;
}

Permissions permissions_from(const Fields& fields) {
  Permissions permissions;
  const auto read = [&](const char* key, Permit& to) {
    to = permit_from(fields.word(key, to_string(to)));
  };
  read("read", permissions.read);
  read("write", permissions.write);
  read("network", permissions.network);
  read("mutate", permissions.mutate);
  read("undeclared", permissions.undeclared);
  permissions.tools = rules_from(fields, "tools");
  permissions.paths = rules_from(fields, "paths");
  return permissions;
}

Cadence cadence_from(const Fields& fields) {
  Cadence cadence;
  const Json* found = fields.find("cadence");
  if (found == nullptr) return cadence;
  if (const auto* word = found->as_string()) {
    cadence.at = *word == "call" ? Cadence::At::call : Cadence::At::turn;
    return cadence;
  }
  cadence.at = Cadence::At::period;
  Fields(*found).read("turns", cadence.turns);
  Fields(*found).read("time", cadence.time);
  return cadence;
}

OnChange on_change_from(const std::string& word) {
  if (word == "continue") return OnChange::go_on;
  return word == "refuse" ? OnChange::refuse : OnChange::ask;
}

// Money is read from its digits. What is too close to six decimals for the schema to tell is found
// here.
std::optional<std::int64_t> micros_in(Reading& reading, std::string_view pointer,
                                      const Fields& fields, std::string_view key) {
  const Json* found = fields.find(key);
  if (found == nullptr) return std::nullopt;
  const std::string& token = *found->number_token();
  // The schema leaves only a zero with a sign, which must not pass for no limit.
  if (token.starts_with('-')) return 0;
  const auto micros = micros_from_dollars(token);
  if (!micros) {
    reading.found(pointer_to(pointer, key),
                  fmt::format("{}: has more than six decimals; write dollars, like 2.50", key));
  }
  return micros;
}

Price price_from(Reading& reading, const std::string& pointer, const Fields& fields) {
  const auto micros = [&](std::string_view key) {
    return micros_in(reading, pointer, fields, key);
  };
  const std::int64_t input = micros("input").value_or(0);
  return {.input = input,
          .output = micros("output").value_or(0),
          .cache_read = micros("cache_read").value_or(input),
          .cache_write = micros("cache_write").value_or(input)};
}

bool has_way_up(std::string_view pattern) {
  return std::ranges::any_of(pattern | std::views::split('/'), [](const auto& part) {
    return std::ranges::equal(part, std::string_view(".."));
  });
}

}  // namespace

void check_path_pattern(Reading& reading, std::string_view pointer, std::string_view key,
                        std::string_view pattern) {
  if (!has_way_up(pattern)) return;
  reading.found(pointer,
                fmt::format("{}: \"{}\" fits no path, because paths are compared without \"..\"; "
                            "write it relative to a root, or as a whole path",
                            key, pattern));
}

void read_rules(Reading& reading, AgentFile& to) {
  const Fields fields(reading.value());
  to.permissions = permissions_from(fields.object("permissions"));
  for (const PermitRule& rule : to.permissions.paths) {
    check_path_pattern(reading, pointer_to("/permissions/paths", rule.pattern), "permissions.paths",
                       rule.pattern);
  }
  const Fields budget = fields.object("budget");
  to.budget_micros = micros_in(reading, "/budget", budget, "dollars");
  budget.read("warn_percent", to.limits.warn_percent);
  const Fields limits = fields.object("limits");
  limits.read("iterations", to.limits.iterations);
  if (limits.has("time")) limits.read("time", to.limits.time.emplace());
  to.cadence = cadence_from(fields);
  const bool tells = fields.word("on_doubt", "ask") == "tell_model";
  to.on_doubt = tells ? OnDoubt::tell_model : OnDoubt::ask;
  to.on_change = on_change_from(fields.word("on_change", "ask"));
  for (const auto& [model, price] : fields.members("prices")) {
    to.prices.emplace_back(model, price_from(reading, pointer_to("/prices", model), Fields(price)));
  }
}

}  // namespace perdure::agent_file
