// Records of calls and requests, to JSON and back.

#include "perdure/runtime/call_records.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/raw_json.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/runtime/message.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "values/fields.hpp"

namespace perdure {
namespace {

using values::Fields;

constexpr std::string_view call_key = "call";
constexpr std::string_view outcome_key = "outcome";

void take_call(Fields& fields, Position& out) {
  fields.require(call_key);
  fields.take(call_key, out);
}

void take_intent(Fields& fields, Intent& intent) {
  fields.take("message", intent.message);
  fields.take("block", intent.block);
  if (fields.has("args") || fields.has("args_text"))
    fields.take_json("args", intent.args.emplace());
  fields.require("tool");
  fields.take_bytes("tool", intent.tool);
  fields.take_bytes("provider_id", intent.provider_id);
  fields.take("args_digest", intent.args_digest);
  if (fields.has("operation")) fields.take("operation", intent.operation.emplace());
  fields.take_bytes("repeat", intent.repeat);
  fields.take_bytes("scope", intent.scope);
  fields.take_bytes("nonce", intent.nonce);
}

const RawJson* find_mark(const ToolResultBlock& result, std::string_view key) {
  const RawJson* found = nullptr;
  for (const auto& [name, json] : result.unknown) {
    if (name == key) found = &json;
  }
  return found;
}

}  // namespace

std::string to_json(const Intent& intent) {
  ObjectWriter writer;
  writer.add("message", intent.message);
  writer.add("block", intent.block);
  if (intent.args) values::add_json(writer, "args", *intent.args);
  values::add_bytes(writer, "tool", intent.tool);
  values::add_bytes(writer, "provider_id", intent.provider_id);
  writer.add("args_digest", to_hex(intent.args_digest));
  if (intent.operation) writer.add("operation", to_hex(*intent.operation));
  values::add_bytes(writer, "repeat", intent.repeat);
  values::add_bytes(writer, "scope", intent.scope);
  values::add_bytes(writer, "nonce", intent.nonce);
  values::add_unknown(writer, intent.unknown);
  return writer.finish();
}

std::string to_json(const Attempted& attempt) {
  ObjectWriter writer;
  writer.add(call_key, attempt.call);
  writer.add("number", attempt.number);
  values::add_bytes(writer, "worker", attempt.worker);
  if (attempt.key_generation != 0) writer.add("key_generation", attempt.key_generation);
  if (attempt.none_landed) writer.add("none_landed", true);
  values::add_unknown(writer, attempt.unknown);
  return writer.finish();
}

std::string to_json(const Doubt& doubt) {
  ObjectWriter writer;
  writer.add(call_key, doubt.call);
  values::add_bytes(writer, "why", doubt.why);
  if (doubt.has_ended) writer.add("has_ended", true);
  values::add_unknown(writer, doubt.unknown);
  return writer.finish();
}

std::string to_json(const Evidence& evidence) {
  ObjectWriter writer;
  writer.add(call_key, evidence.call);
  values::add_bytes(writer, "text", evidence.text);
  values::add_unknown(writer, evidence.unknown);
  return writer.finish();
}

std::string to_json(const Resolution& resolution) {
  ObjectWriter writer;
  writer.add(call_key, resolution.call);
  values::add_bytes(writer, "decision", resolution.decision);
  values::add_bytes(writer, "who", resolution.who);
  values::add_bytes(writer, "why", resolution.why);
  values::add_unknown(writer, resolution.unknown);
  return writer.finish();
}

std::string to_json(const Request& request) {
  ObjectWriter writer;
  values::add_bytes(writer, "reservation", request.reservation);
  values::add_bytes(writer, "model", request.model);
  if (request.is_ahead) {
    writer.add("is_ahead", true);
    values::add_bytes(writer, "loss_token", request.loss_token);
  } else {
    writer.add("digest", to_hex(request.digest));
  }
  values::add_unknown(writer, request.unknown);
  return writer.finish();
}

Result<Intent> intent_from_json(std::string_view text) {
  return values::read_value<Intent>(text, "intent", take_intent);
}

Result<Attempted> attempt_from_json(std::string_view text) {
  return values::read_value<Attempted>(text, "attempt", [](Fields& fields, Attempted& attempt) {
    take_call(fields, attempt.call);
    fields.take("number", attempt.number);
    fields.take_bytes("worker", attempt.worker);
    fields.take("key_generation", attempt.key_generation);
    fields.take("none_landed", attempt.none_landed);
  });
}

Result<Doubt> doubt_from_json(std::string_view text) {
  return values::read_value<Doubt>(text, "doubt", [](Fields& fields, Doubt& doubt) {
    take_call(fields, doubt.call);
    fields.take_bytes("why", doubt.why);
    fields.take("has_ended", doubt.has_ended);
  });
}

Result<Evidence> evidence_from_json(std::string_view text) {
  return values::read_value<Evidence>(text, "piece of evidence",
                                      [](Fields& fields, Evidence& evidence) {
                                        take_call(fields, evidence.call);
                                        fields.take_bytes("text", evidence.text);
                                      });
}

Result<Resolution> resolution_from_json(std::string_view text) {
  return values::read_value<Resolution>(text, "resolution",
                                        [](Fields& fields, Resolution& resolution) {
                                          take_call(fields, resolution.call);
                                          fields.require("decision");
                                          fields.take_bytes("decision", resolution.decision);
                                          fields.take_bytes("who", resolution.who);
                                          fields.take_bytes("why", resolution.why);
                                        });
}

Result<Request> request_from_json(std::string_view text) {
  return values::read_value<Request>(text, "request", [](Fields& fields, Request& request) {
    fields.take_bytes("reservation", request.reservation);
    fields.take_bytes("model", request.model);
    fields.take("digest", request.digest);
    fields.take("is_ahead", request.is_ahead);
    fields.take_bytes("loss_token", request.loss_token);
  });
}

bool Outcome::is_final() const {
  return state && *state != CallState::intended && *state != CallState::dispatched &&
         *state != CallState::in_doubt;
}

void set_outcome(ToolResultBlock& result, const Outcome& outcome) {
  std::erase_if(result.unknown, [](const auto& member) {
    return member.first == call_key || member.first == outcome_key;
  });
  result.unknown.emplace_back(call_key, RawJson::from_value(outcome.call));
  if (!outcome.state) return;
  result.unknown.emplace_back(outcome_key, RawJson::from_value(to_string(*outcome.state)));
}

std::optional<Outcome> outcome_of(const ToolResultBlock& result) {
  const RawJson* const call = find_mark(result, call_key);
  if (call == nullptr) return std::nullopt;
  const auto position = call->value().as_uint64();
  if (!position) return std::nullopt;
  Outcome outcome{.call = *position};
  if (const RawJson* const word = find_mark(result, outcome_key)) {
    const Json value = word->value();
    if (const std::string* text = value.as_string()) outcome.state = call_state_from(*text);
  }
  return outcome;
}

}  // namespace perdure
