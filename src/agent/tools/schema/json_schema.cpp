// The face of the parts beside it.

#include "perdure/agent/json_schema.hpp"

#include <memory>
#include <utility>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "tools/schema/compiler.hpp"
#include "tools/schema/evaluator.hpp"
#include "tools/schema/node.hpp"

namespace perdure {

struct JsonSchema::Compiled {
  std::vector<schema::Node> nodes;
};

JsonSchema::JsonSchema(std::shared_ptr<const Compiled> compiled) : compiled_(std::move(compiled)) {}

Result<JsonSchema> JsonSchema::compile(const Json& schema) {
  auto nodes = schema::Compiler(schema).run();
  if (!nodes) return forward(nodes);
  return JsonSchema(std::make_shared<const Compiled>(Compiled{.nodes = *std::move(nodes)}));
}

std::vector<SchemaError> JsonSchema::check(const Json& value) const {
  return schema::Evaluator(compiled_->nodes, false).run(value);
}

std::vector<SchemaError> JsonSchema::check_hiding_secrets(const Json& value) const {
  return schema::Evaluator(compiled_->nodes, true).run(value);
}

}  // namespace perdure
