// Origins, to JSON and back.

#include "perdure/runtime/origin.hpp"

#include <string>
#include <string_view>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/id_source.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/raw_json.hpp"
#include "runtime/api/fields.hpp"

namespace perdure {

Origin root_origin(const SessionId& session, IdSource& ids) {
  return {.root = session.text(), .nonce = to_base32(ids.next())};
}

std::string to_json(const Origin& origin) {
  ObjectWriter writer;
  values::add_bytes(writer, "root", origin.root);
  values::add_bytes(writer, "nonce", origin.nonce);
  values::add_bytes(writer, "agent_digest", origin.agent_digest);
  values::add_unknown(writer, origin.unknown);
  return writer.finish();
}

std::string to_json(const AgentChange& change) {
  ObjectWriter writer;
  values::add_bytes(writer, "agent_digest", change.agent_digest);
  writer.add_raw("parts", Json(Json::Array(change.parts.begin(), change.parts.end())).text());
  values::add_bytes(writer, "who", change.who);
  values::add_unknown(writer, change.unknown);
  return writer.finish();
}

Result<Origin> origin_from_json(std::string_view text) {
  return values::read_value<Origin>(text, "origin", [](values::Fields& fields, Origin& origin) {
    fields.require("root");
    fields.take_bytes("root", origin.root);
    fields.take_bytes("nonce", origin.nonce);
    fields.take_bytes("agent_digest", origin.agent_digest);
  });
}

Result<AgentChange> agent_change_from_json(std::string_view text) {
  return values::read_value<AgentChange>(
      text, "change of agent", [](values::Fields& fields, AgentChange& change) {
        fields.require("agent_digest");
        fields.take_bytes("agent_digest", change.agent_digest);
        fields.take_bytes("who", change.who);
        fields.take_each("parts", [&](std::string_view element) -> Result<void> {
          const auto part = parse_json(element);
          if (!part || part->as_string() == nullptr) {
            return fail(ErrorCode::invalid_argument, "change of agent: a part must be a text");
          }
          change.parts.push_back(*part->as_string());
          return {};
        });
      });
}

}  // namespace perdure
