// The records of session_records.hpp, to JSON and back, and their rules.

#include "perdure/runtime/session_records.hpp"

#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/id_source.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/raw_json.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/runtime/setup.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/entry.hpp"
#include "perdure/store/limits.hpp"
#include "perdure/store/sessions.hpp"
#include "values/fields.hpp"

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

std::string_view status_kind(Status status) {
  switch (status) {
    case Status::active:
      return "session_resumed";
    case Status::waiting:
      return "session_waiting";
    case Status::paused:
      return "session_paused";
    case Status::completed:
      return "session_completed";
    case Status::failed:
      return "session_failed";
    case Status::cancelled:
      return "session_cancelled";
  }
  return "";
}

std::string to_json(const StatusNote& note) {
  ObjectWriter writer;
  values::add_bytes(writer, "who", note.who);
  values::add_bytes(writer, "why", note.why);
  values::add_unknown(writer, note.unknown);
  return writer.finish();
}

Result<StatusNote> status_note_from_json(std::string_view kind, std::string_view text) {
  auto note = values::read_value<StatusNote>(text, "change of status",
                                             [](values::Fields& fields, StatusNote& read) {
                                               fields.take_bytes("who", read.who);
                                               fields.take_bytes("why", read.why);
                                             });
  if (!note) return note;
  for (const Status status : {Status::active, Status::waiting, Status::paused, Status::completed,
                              Status::failed, Status::cancelled}) {
    if (status_kind(status) != kind) continue;
    note->status = status;
    return note;
  }
  return fail(ErrorCode::invalid_argument, fmt::format("{} is no change of a status", kind));
}

namespace {

bool sum_fits(std::int64_t a, std::int64_t b) {
  using Limits = std::numeric_limits<std::int64_t>;
  return b >= 0 ? a <= Limits::max() - b : a >= Limits::min() - b;
}

}  // namespace

std::int64_t Counters::at(std::string_view name) const {
  const auto found = values.find(name);
  return found == values.end() ? 0 : found->second;
}

Result<std::int64_t> add(Counters& counters, std::string_view name, std::int64_t number) {
  auto named = check_name("counter", name, name_bytes_max);
  if (!named) return forward(named);
  const std::int64_t before = counters.at(name);
  if (!sum_fits(before, number)) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("counter \"{}\" would not fit 64 bits", name), std::string(name));
  }
  counters.values.insert_or_assign(std::string(name), before + number);
  return before + number;
}

std::string to_json(const Counters& counters) {
  ObjectWriter numbers;
  for (const auto& [name, number] : counters.values) numbers.add(name, number);
  ObjectWriter writer;
  writer.add_raw("counters", numbers.finish());
  values::add_unknown(writer, counters.unknown);
  return writer.finish();
}

Result<Counters> counters_from_json(std::string_view text) {
  return values::read_value<Counters>(
      text, "set of counters", [](values::Fields& fields, Counters& counters) {
        fields.require("counters");
        fields.take_members("counters", [&](const RawMember& member) -> Result<void> {
          const auto number = parse_json(member.value)->as_int64();
          if (!number) {
            return fail(ErrorCode::invalid_argument,
                        fmt::format("counter \"{}\": expected an integer", member.key));
          }
          counters.values.insert_or_assign(member.key, *number);
          return {};
        });
      });
}

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
