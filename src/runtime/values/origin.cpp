// Origins, to JSON and back.

#include "perdure/runtime/origin.hpp"

#include <string>
#include <string_view>

#include "perdure/core/error.hpp"
#include "perdure/core/raw_json.hpp"
#include "values/fields.hpp"

namespace perdure {

std::string to_json(const Origin& origin) {
  ObjectWriter writer;
  values::add_bytes(writer, "root", origin.root);
  values::add_bytes(writer, "agent_digest", origin.agent_digest);
  values::add_unknown(writer, origin.unknown);
  return writer.finish();
}

Result<Origin> origin_from_json(std::string_view text) {
  return values::read_value<Origin>(text, "origin", [](values::Fields& fields, Origin& origin) {
    fields.require("root");
    fields.take_bytes("root", origin.root);
    fields.take_bytes("agent_digest", origin.agent_digest);
  });
}

}  // namespace perdure
