// Everything that can be wrong with a tool is found here, when the agent is loaded.

#include <fmt/format.h>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/api/json_schema.hpp"
#include "perdure/agent/tools.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "tools/check/checked_tool.hpp"

namespace perdure {
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
