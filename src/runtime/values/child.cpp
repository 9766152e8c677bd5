// Records of children, to JSON and back.

#include "perdure/runtime/child.hpp"

#include <cstddef>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/raw_json.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/runtime/setup.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "values/fields.hpp"

namespace perdure {
namespace {

using values::Fields;

void take_setup(Fields& fields, std::optional<Setup>& out) {
  if (!fields.has("setup")) return;
  RawJson text;
  fields.take("setup", text);
  auto setup = setup_from_json(text.text());
  if (!setup) return fields.fail_with(std::move(setup).error());
  out = *std::move(setup);
}

}  // namespace

SessionId child_of(const SessionId& parent, const OpenCall& call) {
  constexpr std::size_t digits = 32;
  const std::string digest =
      to_hex(sha256(fmt::format("child of {}:{} {}", parent.text(), call.call, call.nonce)));
  return SessionId::parse("ses_" + digest.substr(0, digits)).value();
}

std::string to_json(const ChildSpawn& spawn) {
  ObjectWriter writer;
  values::add_bytes(writer, "child", spawn.child);
  values::add_bytes(writer, "root", spawn.root);
  values::add_bytes(writer, "nonce", spawn.nonce);
  values::add_bytes(writer, "agent_digest", spawn.agent_digest);
  if (spawn.limit_micros) writer.add("limit_micros", *spawn.limit_micros);
  if (spawn.setup) writer.add_raw("setup", to_json(*spawn.setup));
  values::add_unknown(writer, spawn.unknown);
  return writer.finish();
}

std::string to_json(const ChildEnd& end) {
  ObjectWriter writer;
  values::add_bytes(writer, "child", end.child);
  writer.add("number", end.number);
  writer.add("status", std::string(to_string(end.status)));
  writer.add("spent_micros", end.spent_micros);
  if (end.unconfirmed_micros != 0) writer.add("unconfirmed_micros", end.unconfirmed_micros);
  values::add_bytes(writer, "result", end.result);
  values::add_unknown(writer, end.unknown);
  return writer.finish();
}

Result<ChildSpawn> child_spawn_from_json(std::string_view text) {
  return values::read_value<ChildSpawn>(text, "spawn", [](Fields& fields, ChildSpawn& spawn) {
    fields.require("child");
    fields.require("root");
    fields.take_bytes("child", spawn.child);
    fields.take_bytes("root", spawn.root);
    fields.take_bytes("nonce", spawn.nonce);
    fields.take_bytes("agent_digest", spawn.agent_digest);
    fields.take("limit_micros", spawn.limit_micros);
    if (spawn.limit_micros.value_or(0) < 0) fields.refuse("limit_micros", "at least 0");
    take_setup(fields, spawn.setup);
  });
}

Result<ChildEnd> child_end_from_json(std::string_view text) {
  return values::read_value<ChildEnd>(text, "end of a child", [](Fields& fields, ChildEnd& end) {
    fields.require("child");
    fields.require("spent_micros");
    fields.take_bytes("child", end.child);
    fields.take("number", end.number);
    fields.take_word("status", end.status, status_from);
    fields.take("spent_micros", end.spent_micros);
    if (end.spent_micros < 0) fields.refuse("spent_micros", "at least 0");
    fields.take("unconfirmed_micros", end.unconfirmed_micros);
    const bool fits = end.unconfirmed_micros >= 0 && end.unconfirmed_micros <= end.spent_micros;
    if (!fits) fields.refuse("unconfirmed_micros", "a part of what was spent");
    fields.take_bytes("result", end.result);
  });
}

}  // namespace perdure
