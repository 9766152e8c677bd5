// The header has the rules; each function here is one of them.

#include "perdure/agent/permissions.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/api/json_text.hpp"
#include "perdure/agent/toolbox.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/tool.hpp"
#include "tools/check/wildcard.hpp"

namespace perdure {
namespace {

PermitDecision stricter(PermitDecision a, PermitDecision b) {
  return a.permit >= b.permit ? std::move(a) : std::move(b);
}

PermitDecision by_touch(const Permissions& rules, const Tool& tool, bool spares_files) {
  // What a session answers touches nothing but the session.
  if (tool.answer) return {.permit = Permit::allow};
  if (!tool.side_effects) {
    return {rules.undeclared, fmt::format("{} does not say what it touches", tool.name)};
  }
  PermitDecision all{.permit = Permit::allow};
  const auto add = [&](bool touches, Permit permit, std::string_view what, bool is_file) {
    if (!touches || permit == Permit::allow) return;
    if (is_file && spares_files && permit == Permit::ask) return;
    all = stricter(std::move(all),
                   {permit, fmt::format("{} is a tool with the side effect {}", tool.name, what)});
  };
  add(tool.side_effects->read, rules.read, "read", true);
  add(tool.side_effects->write, rules.write, "write", true);
  add(tool.side_effects->network, rules.network, "network", false);
  add(tool.side_effects->mutate, rules.mutate, "mutate", false);
  return all;
}

std::optional<PermitDecision> by_name(const Permissions& rules, const Tool& tool) {
  std::optional<PermitDecision> found;
  for (const auto& [pattern, permit] : rules.tools) {
    if (!fits_wildcard(pattern, tool.name)) continue;
    PermitDecision decision{permit, fmt::format("the rule for tools \"{}\"", pattern)};
    found = found ? stricter(*std::move(found), std::move(decision)) : std::move(decision);
  }
  return found;
}

struct PathsDecision {
  PermitDecision strictest{.permit = Permit::allow};
  bool are_allowed = false;  ///< There are paths, and a rule allows each of them.
};

struct GivenPaths {
  std::vector<std::string> paths{};
  bool is_all = true;  ///< False: an argument that is a path is not there, or is none.
};

GivenPaths paths_in(const Json& args, const PathArgs& path_args) {
  GivenPaths given;
  for (const std::string& pointer : path_args.pointers) {
    const Json* found = find_by_pointer(args, pointer);
    if (found == nullptr && path_args.otherwise) {
      given.paths.push_back(*path_args.otherwise);
      continue;
    }
    const Json::Array single = found == nullptr ? Json::Array{} : Json::Array{*found};
    const Json::Array& list = found != nullptr && found->is_array() ? *found->as_array() : single;
    given.is_all = given.is_all && !list.empty();
    for (const Json& each : list) {
      const auto* path = each.as_string();
      if (path != nullptr) given.paths.push_back(*path);
      given.is_all = given.is_all && path != nullptr;
    }
  }
  return given;
}

PermitDecision of_path(const Permissions& rules, const PathPlace& place, const std::string& given,
                       bool& is_allowed) {
  const auto names = path_names(given, place);
  if (!names) return {Permit::deny, fmt::format("\"{}\": {}", given, names.error().message)};
  PermitDecision strictest{.permit = Permit::allow};
  for (const auto& [pattern, permit] : rules.paths) {
    const auto fits = [&pattern, is_allowing = permit == Permit::allow](const std::string& name) {
      return is_allowing ? fits_path(pattern, name) : covers_path(pattern, name);
    };
    const auto name = std::ranges::find_if(*names, fits);
    if (name == names->end()) continue;
    is_allowed = true;
    if (permit <= strictest.permit) continue;
    strictest = {permit,
                 fmt::format("the rule for paths \"{}\", which \"{}\" fits", pattern, *name)};
  }
  return strictest;
}

PathsDecision by_paths(const Permissions& rules, const PathArgs& path_args, const Json& args) {
  const GivenPaths given = paths_in(args, path_args);
  PathsDecision decision{.are_allowed = given.is_all && !given.paths.empty()};
  const bool is_ruled = std::ranges::any_of(
      rules.paths, [](const PermitRule& rule) { return rule.permit != Permit::allow; });
  if (!given.is_all && is_ruled) {
    decision.strictest = {Permit::ask, "there are rules for paths, and it does not say its path"};
  }
  for (const std::string& path : given.paths) {
    bool is_allowed = false;
    decision.strictest =
        stricter(decision.strictest, of_path(rules, path_args.place, path, is_allowed));
    decision.are_allowed = decision.are_allowed && is_allowed;
  }
  return decision;
}

}  // namespace

std::string_view to_string(Permit permit) {
  switch (permit) {
    case Permit::allow:
      return "allow";
    case Permit::ask:
      return "ask";
    case Permit::deny:
      return "deny";
  }
  return "deny";
}

PermitDecision decide_permit(const Permissions& permissions, const Tool& tool,
                             const PathArgs& path_args, const Json& args) {
  const PathsDecision paths = by_paths(permissions, path_args, args);
  const PermitDecision touch = by_touch(permissions, tool, paths.are_allowed);
  const auto name = by_name(permissions, tool);
  // A name is more exact than what a tool touches, except for a no.
  PermitDecision decision = name && touch.permit != Permit::deny ? *name : touch;
  if (name && name->permit == Permit::deny) decision = *name;
  decision = stricter(std::move(decision), paths.strictest);
  if (decision.permit == Permit::allow) decision.why.clear();
  return decision;
}

}  // namespace perdure
