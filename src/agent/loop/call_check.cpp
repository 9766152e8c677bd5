// The texts are written for a model: what is wrong, where, and what would be right.

#include <algorithm>
#include <cstddef>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <ranges>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "agent/api/agent.hpp"
#include "agent/api/json_schema.hpp"
#include "core/api/json_text.hpp"
#include "core/api/wording.hpp"
#include "loop/history.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/agent/tools.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "runtime/api/records.hpp"
#include "tools/check/paths.hpp"
#include "tools/schema/compiler.hpp"
#include "tools/secret_ref.hpp"

namespace perdure {
namespace {

// What the model is told; `more` has members besides.
PermitDecision refused(std::string_view error, const ToolCallBlock& call, std::string message,
                       Json::Object more = {}) {
  Json::Object object{{"error", error}, {"tool", call.name}, {"message", std::move(message)}};
  for (Json::Member& member : more) object.push_back(std::move(member));
  return PermitDecision::deny(Json(std::move(object)).text());
}

PermitDecision no_such_tool(const Toolbox& tools, const ToolCallBlock& call) {
  constexpr std::size_t listed_max = 50;
  const auto names = tools.names();
  const auto meant = closest_name(call.name, names);
  Json::Object more;
  if (meant) more.emplace_back("did_you_mean", *meant);
  Json::Array listed;
  for (const std::string_view name : names) {
    if (listed.size() < listed_max) listed.emplace_back(name);
  }
  more.emplace_back("tools", std::move(listed));
  return refused("unknown_tool", call,
                 meant ? fmt::format("There is no such tool. Did you mean {}?", *meant)
                       : "There is no such tool. Use one of those listed.",
                 std::move(more));
}

Result<Json> arguments_of(const ToolCallBlock& call) {
  auto args = parse_args(call.args);
  if (!args) return args;
  if (!args->is_object()) {
    return fail(ErrorCode::invalid_argument,
                "they are " + schema::kind_words(*args) + ", and must be an object");
  }
  // Duplicate members, numbers beyond any double: what has no canonical form is refused.
  if (auto canonical = canonical_json(*args); !canonical) return forward(canonical);
  return args;
}

PermitDecision invalid(const ToolCallBlock& call, const std::vector<SchemaError>& errors) {
  Json::Array listed;
  for (const auto& [at, rule, message] : errors) {
    listed.emplace_back(Json::Object{{"at", at}, {"message", message}});
  }
  return refused(
      "invalid_arguments", call,
      "The arguments do not fit the tool's schema. Nothing was done. Correct all of these "
      "and call again.",
      {{"errors", std::move(listed)}});
}

void find_foreign_secrets(const Json& value, const ToolSpec& spec, std::vector<SchemaError>& errors,
                          const std::string& at) {
  if (const auto* name = secret_name(value)) {
    if (std::ranges::find(spec.secrets, *name) != spec.secrets.end()) return;
    errors.push_back({.at = at, .message = fmt::format("this tool gets no secret \"{}\"", *name)});
    return;
  }
  if (const auto* array = value.as_array()) {
    for (std::size_t i = 0; i < array->size(); ++i) {
      find_foreign_secrets((*array)[i], spec, errors, fmt::format("{}/{}", at, i));
    }
  } else if (const auto* object = value.as_object()) {
    for (const auto& [key, member] : *object) {
      find_foreign_secrets(member, spec, errors, fmt::format("{}/{}", at, key));
    }
  }
}

std::vector<SchemaError> errors_in(const CheckedTool& tool, const Json& args) {
  if (tool.spec.secrets.empty()) return tool.schema.check(args);
  auto errors = tool.schema.check(args, true);
  find_foreign_secrets(args, tool.spec, errors, "");
  return errors;
}

// Equal for equal arguments; what is not JSON is equal to itself.
std::string call_text(const ToolCallBlock& call) {
  const auto args = parse_args(call.args);
  return call.name + "\n" + (args ? schema::value_text(*args) : call.args);
}

bool is_refusal(const ToolResultBlock& result) {
  const auto outcome = outcome_of(result);
  return outcome && outcome->state == CallState::denied;
}

// How many calls like one are at the end of what was looked at, backwards.
class SameCalls {
 public:
  /// Looks at the calls of a message up to block `end`. False: nothing before it matters.
  bool look_at(const Message& message, std::size_t end) {
    // A user who asks for the same again means it.
    if (loop::is_users_word(message)) return false;
    if (message.is_partial) return true;
    for (std::size_t i = std::min(end, message.blocks.size()); i > 0; --i) {
      const auto* call = std::get_if<ToolCallBlock>(&message.blocks[i - 1]);
      if (call == nullptr) continue;
      if (!wanted_) wanted_ = call_text(*call);
      if (call_text(*call) != *wanted_) return false;
      if (++times_ >= identical_calls_max) return false;
    }
    return true;
  }
  [[nodiscard]] std::size_t times() const { return times_; }

 private:
  std::optional<std::string> wanted_;
  std::size_t times_ = 0;
};

std::size_t count_back(std::span<const PlacedMessage> before, const Message& last,
                       std::size_t block) {
  SameCalls same;
  bool goes_on = same.look_at(last, block + 1);
  for (std::size_t i = before.size(); goes_on && i > 0; --i) {
    const Message& message = before[i - 1].message;
    goes_on = same.look_at(message, message.blocks.size());
  }
  return same.times();
}

// Arguments that were never written look like none that are needed.
bool may_lack_its_end(const ProposedCall& call) {
  return loop::stop_of(call.response) == StopReason::length &&
         call.block + 1 == call.response.blocks.size();
}

}  // namespace

PermitDecision check_call(const Toolbox& tools, const Permissions& permissions,
                          const ToolCallBlock& call, std::size_t in_a_row) {
  const CheckedTool* tool = tools.find(call.name);
  if (tool == nullptr) return no_such_tool(tools, call);
  const auto args = arguments_of(call);
  if (!args) {
    return refused("arguments_not_json", call,
                   "The arguments cannot be read: " + args.error().message +
                       ". Nothing was done. Send one JSON object.");
  }
  if (const auto errors = errors_in(*tool, *args); !errors.empty()) return invalid(call, errors);
  PermitDecision permit = decide_permit(permissions, tool->spec.tool, tool->spec.path_args, *args);
  if (permit.permit == Permit::deny) {
    return refused("not_permitted", call,
                   "This call is not allowed, and will not be if it is repeated. The reason: " +
                       permit.why + ".");
  }
  if (in_a_row >= identical_calls_max && !tool->spec.is_poll) {
    return refused("loop", call,
                   fmt::format("This very call was asked for {} times in a row. It was not made "
                               "again: look at the results that are there, and do something else.",
                               in_a_row));
  }
  return tool->spec.needs_word ? PermitDecision::ask("it is a question") : permit;
}

std::size_t times_in_a_row(const State& state, Position message, std::size_t block) {
  const auto at = std::ranges::lower_bound(state.transcript, message, {}, &PlacedMessage::position);
  if (at == state.transcript.end() || at->position != message) return 0;
  return count_back({state.transcript.begin(), at}, at->message, block);
}

const ToolCallBlock* loop::refused_again_and_again(const State& state, Position since) {
  std::map<std::string, std::set<Position>> refused;  // By call: the responses that asked for it.
  bool has_results = false;
  for (const auto& [position, message] : std::views::reverse(state.transcript)) {
    if (position < since || loop::is_users_word(message)) return nullptr;
    for (const Block& block : message.blocks) {
      const auto* result = std::get_if<ToolResultBlock>(&block);
      if (result != nullptr && !is_refusal(*result)) return nullptr;
      has_results = has_results || result != nullptr;
    }
    if (message.role != Role::assistant || message.is_partial) continue;
    if (!std::exchange(has_results, false)) return nullptr;
    for (const Block& block : message.blocks) {
      const auto* call = std::get_if<ToolCallBlock>(&block);
      if (call == nullptr) continue;
      auto& responses = refused[call_text(*call)];
      responses.insert(position);
      if (responses.size() == loop::refusals_max) return call;
    }
  }
  return nullptr;
}

// A "no" comes before a question: what is refused is never asked about.
PermitDecision permit_call(const Toolbox& tools, const Permissions& permissions, const State& state,
                           const ProposedCall& proposed) {
  const ToolCallBlock& call = proposed.call();
  if (may_lack_its_end(proposed)) {
    return refused("cut_short", call,
                   "Your response reached its limit of tokens, and this call may lack its end. It "
                   "was not made. Ask for it again, alone or with less in it.");
  }
  const std::size_t in_a_row = proposed.message == 0
                                   ? count_back(state.transcript, proposed.response, proposed.block)
                                   : times_in_a_row(state, proposed.message, proposed.block);
  return check_call(tools, permissions, call, in_a_row);
}

}  // namespace perdure
