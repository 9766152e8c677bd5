// Paths as text, what they are called, and the rules of the header. To match a pattern takes time
// by the length of path times pattern, whatever the pattern.

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fmt/format.h>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "agent/api/json_schema.hpp"
#include "core/api/json_text.hpp"
#include "perdure/agent/tools.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "runtime/api/state_details.hpp"
#include "tools/check/paths.hpp"

namespace perdure {
namespace {

std::vector<std::string_view> parts_of(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const std::size_t end = path.find('/');
    const std::string_view part = path.substr(0, end);
    if (!part.empty() && part != ".") parts.push_back(part);
    path = end == std::string_view::npos ? std::string_view() : path.substr(end + 1);
  }
  return parts;
}

bool fits_wildcard(std::string_view pattern, std::string_view text) {
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;
  std::size_t resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace

Result<std::string> plain_path(std::string_view path) {
  if (path.empty()) return fail(ErrorCode::invalid_argument, "a path is empty");
  if (path.find('\0') != std::string_view::npos) {
    return fail(ErrorCode::invalid_argument, "a path has a zero byte");
  }
  std::vector<std::string_view> kept;
  for (const std::string_view part : parts_of(path)) {
    if (part != "..") {
      kept.push_back(part);
    } else if (kept.empty()) {
      return fail(ErrorCode::invalid_argument, "a path leads out of its root");
    } else {
      kept.pop_back();
    }
  }
  const bool is_absolute = path.front() == '/';
  std::string plain;
  for (const std::string_view part : kept) {
    if (!plain.empty() || is_absolute) plain += '/';
    plain += part;
  }
  if (plain.empty()) plain = is_absolute ? "/" : ".";
  return plain;
}

// A row for each part of the pattern: after how many parts of the path it may have been used up.
bool fits_path(std::string_view pattern, std::string_view path) {
  if (pattern.starts_with('/') != path.starts_with('/')) return false;
  const auto wanted = parts_of(pattern);
  const auto given = parts_of(path);
  std::vector<bool> reached(given.size() + 1, false);
  reached[0] = true;
  for (const std::string_view part : wanted) {
    std::vector<bool> next(given.size() + 1, false);
    for (std::size_t i = 0; i <= given.size(); ++i) {
      if (part == "**") {
        next[i] = reached[i] || (i > 0 && next[i - 1]);
      } else if (i > 0) {
        next[i] = reached[i - 1] && fits_wildcard(part, given[i - 1]);
      }
    }
    reached = next;
  }
  return reached.back();
}

bool covers_path(std::string_view pattern, std::string_view path) {
  for (std::size_t end = path.find('/', 1); end != std::string_view::npos;
       end = path.find('/', end + 1)) {
    if (fits_path(pattern, path.substr(0, end))) return true;
  }
  return fits_path(pattern, path);
}

namespace {

std::string joined(const std::string& folder, std::string_view within) {
  if (within == ".") return folder;
  return folder + (folder.ends_with('/') ? "" : "/") + std::string(within);
}

// "." for the folder itself.
std::optional<std::string> within(const std::string& folder, const std::string& whole) {
  if (whole == folder) return ".";
  const std::string beginning = joined(folder, "");
  if (!whole.starts_with(beginning)) return std::nullopt;
  return whole.substr(beginning.size());
}

std::vector<std::string> names_of_whole(const std::string& whole, const PathArgs& place) {
  std::vector<std::string> names = {whole};
  for (const FileRoot& root : place.roots) {
    const auto inside = within(root.path, whole);
    if (!inside) continue;
    names.push_back(root.name.empty() ? *inside : joined(root.name, *inside));
  }
  if (names.size() > 1 || place.folder.empty()) return names;
  if (auto inside = within(place.folder, whole)) names.push_back(*std::move(inside));
  return names;
}

std::vector<std::string> names_in_roots(const std::string& plain, const PathArgs& place) {
  std::vector<std::string> names = {plain};
  for (const FileRoot& root : place.roots) {
    const auto inside = root.name.empty() ? std::optional(plain) : within(root.name, plain);
    if (inside) names.push_back(joined(root.path, *inside));
  }
  return names;
}

}  // namespace

std::vector<FileRoot> named_roots(std::vector<FileRoot> roots) {
  if (roots.size() == 1) roots.front().name.clear();
  std::vector<FileRoot> real;
  for (const FileRoot& root : roots) {
    std::error_code error;
    const std::string path = std::filesystem::weakly_canonical(root.path, error).string();
    if (error || path == root.path) continue;
    real.push_back(root);
    real.back().path = path;
  }
  roots.insert(roots.end(), real.begin(), real.end());
  return roots;
}

Result<std::vector<std::string>> path_names(const std::string& path, const PathArgs& place) {
  const bool is_whole = path.starts_with('/');
  const bool is_in_folder = !is_whole && !place.folder.empty() && !path.empty();
  const auto plain = plain_path(is_in_folder ? joined(place.folder, path) : path);
  if (!plain) return fail(plain.error().code, plain.error().message);
  if (!is_whole && !is_in_folder) return names_in_roots(*plain, place);
  auto names = names_of_whole(*plain, place);
  if (is_in_folder && names.size() == 1) {
    return fail(ErrorCode::invalid_argument, "a path leads out of its root");
  }
  return names;
}

namespace {

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

PermitDecision of_path(const Permissions& rules, const PathArgs& place, const std::string& given,
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
    decision.strictest = stricter(decision.strictest, of_path(rules, path_args, path, is_allowed));
    decision.are_allowed = decision.are_allowed && is_allowed;
  }
  return decision;
}

}  // namespace

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

// Everything that can be wrong with a tool is found here, when the agent is loaded.
namespace {

Result<JsonSchema> schema_of(const Tool& tool) {
  const auto refuse = [&](ErrorCode code, const std::string& why) {
    return fail(code, fmt::format("tool {}: {}", tool.name, why), tool.name);
  };
  const auto json = parse_json(tool.input_schema);
  if (!json) return refuse(ErrorCode::invalid_argument, "its schema: " + json.error().message);
  const Json* type = json->find("type");
  const bool is_for_objects = json->is_object() && (type == nullptr || *type == Json("object"));
  if (!is_for_objects) {
    return refuse(ErrorCode::invalid_argument, "its schema must be one of type \"object\"");
  }
  auto schema = JsonSchema::compile(*json);
  if (!schema) return refuse(schema.error().code, schema.error().message);
  return schema;
}

}  // namespace

struct Toolbox::Contents {
  std::map<std::string, CheckedTool, std::less<>> by_name{};
  Tools tools{};
  std::vector<ToolDefinition> definitions{};
};

Result<Toolbox> Toolbox::of(std::vector<ToolSpec> specs) {
  const auto contents = std::make_shared<Contents>();
  std::vector<Tool> tools;
  for (ToolSpec& spec : specs) {
    auto schema = schema_of(spec.tool);
    if (!schema) return forward(schema);
    auto text = RawJson::from_text(spec.tool.input_schema);
    if (!text) return forward(text);
    contents->definitions.push_back({.name = spec.tool.name,
                                     .description = spec.tool.description,
                                     .input_schema = *std::move(text)});
    tools.push_back(spec.tool);
    const std::string name = spec.tool.name;
    contents->by_name.try_emplace(name, CheckedTool{std::move(spec), *std::move(schema)});
  }
  auto known = Tools::of(std::move(tools));
  if (!known) return forward(known);
  contents->tools = *std::move(known);
  return Toolbox(contents);
}

Toolbox::Toolbox() : Toolbox(std::make_shared<const Contents>()) {}
Toolbox::Toolbox(std::shared_ptr<const Contents> contents) : contents_(std::move(contents)) {}

const CheckedTool* Toolbox::find(std::string_view name) const {
  const auto found = contents_->by_name.find(name);
  return found == contents_->by_name.end() ? nullptr : &found->second;
}

std::vector<std::string_view> Toolbox::names() const {
  std::vector<std::string_view> names;
  names.reserve(contents_->by_name.size());
  for (const auto& [name, tool] : contents_->by_name) names.push_back(name);
  return names;
}

const Tools& Toolbox::tools() const { return contents_->tools; }
const std::vector<ToolDefinition>& Toolbox::definitions() const { return contents_->definitions; }

}  // namespace perdure
