// Setups, to JSON and back.

#include "perdure/runtime/setup.hpp"

#include <string>
#include <string_view>

#include "perdure/core/error.hpp"
#include "perdure/core/raw_json.hpp"
#include "runtime/api/fields.hpp"

namespace perdure {
namespace {

using values::Fields;

std::string tool_to_json(const ToolDefinition& tool) {
  ObjectWriter writer;
  values::add_bytes(writer, "name", tool.name);
  values::add_bytes(writer, "description", tool.description);
  values::add_json(writer, "input_schema", tool.input_schema.text());
  values::add_unknown(writer, tool.unknown);
  return writer.finish();
}

Result<ToolDefinition> tool_from_json(std::string_view text) {
  return values::read_value<ToolDefinition>(text, "tool definition",
                                            [](Fields& fields, ToolDefinition& tool) {
                                              fields.require("name");
                                              fields.take_bytes("name", tool.name);
                                              fields.take_bytes("description", tool.description);
                                              fields.take_json("input_schema", tool.input_schema);
                                            });
}

}  // namespace

std::string to_json(const Setup& setup) {
  ObjectWriter writer;
  values::add_bytes(writer, "system_prompt", setup.system_prompt);
  values::add_bytes(writer, "model", setup.model);
  values::add_json(writer, "parameters", setup.parameters.text());
  writer.add_raw("tools", values::array_of(setup.tools, tool_to_json));
  values::add_unknown(writer, setup.unknown);
  return writer.finish();
}

Result<Setup> setup_from_json(std::string_view text) {
  return values::read_value<Setup>(text, "setup", [](Fields& fields, Setup& setup) {
    fields.take_bytes("system_prompt", setup.system_prompt);
    fields.take_bytes("model", setup.model);
    fields.take_json("parameters", setup.parameters);
    fields.take_each("tools", [&](std::string_view element) {
      return values::keep(tool_from_json(element), setup.tools);
    });
  });
}

}  // namespace perdure
