// What the agent may do, how much it may cost, and what is done in doubt.

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
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

Price price_from(const Fields& fields) {
  const std::int64_t input = fields.micros("input").value_or(0);
  return {.input = input,
          .output = fields.micros("output").value_or(0),
          .cache_read = fields.micros("cache_read").value_or(input),
          .cache_write = fields.micros("cache_write").value_or(input)};
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
  to.budget_micros = budget.micros("dollars");
  budget.read("warn_percent", to.limits.warn_percent);
  const Fields limits = fields.object("limits");
  limits.read("iterations", to.limits.iterations);
  if (limits.has("time")) limits.read("time", to.limits.time.emplace());
  to.cadence = cadence_from(fields);
  const bool tells = fields.word("on_doubt", "ask") == "tell_model";
  to.on_doubt = tells ? OnDoubt::tell_model : OnDoubt::ask;
  to.on_change = on_change_from(fields.word("on_change", "ask"));
  for (const auto& [model, price] : fields.members("prices")) {
    to.prices.emplace_back(model, price_from(Fields(price)));
  }
}

}  // namespace perdure::agent_file
