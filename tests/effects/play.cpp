// The model sees what a provider would be sent, and nothing else.

#include "effects/play.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "runtime/api/records.hpp"
#include "world/client.hpp"
#include "world/script.hpp"
#include "world/wire.hpp"

namespace perdure::effects {
namespace {

using world::ScriptedCall;

constexpr std::array manners = {std::pair(Manner::goes_on, std::string_view("goes_on")),
                                std::pair(Manner::reissues, std::string_view("reissues")),
                                std::pair(Manner::rewords, std::string_view("rewords"))};

// How many calls each response asks for, in order: one, two, one, two.
constexpr std::array<std::size_t, 4> portions = {1, 2, 1, 2};

struct Seen {
  int asked = 0;
  bool is_done = false;
  bool has_failed = false;  ///< It was told so, last: nothing happened.
};

// Whatever its manner, a model asks again for what it is told did not happen.
bool asks_again(const Seen& seen, Manner manner) {
  if (seen.asked == 0 || seen.is_done) return false;
  if (seen.has_failed) return true;
  return seen.asked == 1 && manner != Manner::goes_on;
}

std::string op_of(const ToolCallBlock& call) {
  const auto args = parse_json(call.args);
  return args ? world::text_of(*args, "op") : std::string();
}

// What became of each operation, as the model was told.
std::map<std::string, Seen> seen_in(const std::vector<Message>& history) {
  std::map<std::string, Seen> seen;
  std::map<std::string, std::string> op_by_id;
  for (const Message& message : history) {
    if (message.role == Role::assistant) op_by_id.clear();
    for (const Block& block : message.blocks) {
      if (const auto* call = std::get_if<ToolCallBlock>(&block)) {
        op_by_id[call->id] = op_of(*call);
        ++seen[op_of(*call)].asked;
      } else if (const auto* result = std::get_if<ToolResultBlock>(&block)) {
        Seen& so_far = seen[op_by_id[result->call_id]];
        const auto outcome = outcome_of(*result);
        so_far.has_failed = outcome && outcome->state == CallState::failed;
        if (!result->is_error) so_far.is_done = true;
      }
    }
  }
  return seen;
}

ToolCallBlock block_for(const ScriptedCall& call, bool is_reworded, std::size_t number) {
  return {.id = fmt::format("call_{}", number),
          .name = call.tool(),
          .args = is_reworded ? call.reworded : call.args};
}

bool has_rested(const State& state) {
  if (state.transcript.empty()) return false;
  const Message& last = state.transcript.back().message;
  return last.role == Role::assistant && std::ranges::none_of(last.blocks, [](const Block& block) {
           return std::holds_alternative<ToolCallBlock>(block);
         });
}

// Bought from the world, which counts it.
Result<Message> buy_response(const Player& player, const State& state) {
  const auto history = provider_messages(state);
  const std::string op = player.prefix + response_op(state.transcript.size());
  player.say("asking " + op);
  const auto reply = player.world.effect({.op = op, .tool = "model"});
  if (!std::holds_alternative<world::Answered>(reply)) {
    return fail(ErrorCode::unavailable, "the model did not answer");
  }
  return next_response(history, player.manner, player.prefix);
}

Result<Session> take_up(const Player& player, CallsReport& report) {
  auto resumed = player.runtime.resume(player.session, {.wait = player.wait});
  if (resumed) {
    report = resumed->report.calls;
    return std::move(resumed->session);
  }
  if (resumed.error().code != ErrorCode::not_found) return forward(resumed);
  return player.runtime.create({.id = player.session});
}

// True: a decision is needed.
Result<bool> run_calls(const Player& player, Session& session, CallsReport& report) {
  while (player.moves_clock && report.waiting && report.waiting->what == Waiting::For::time) {
    player.say(fmt::format("later {}", report.waiting->call));
    const Duration left =
        report.waiting->until ? *report.waiting->until - player.clock.now() : Duration(1000);
    player.clock.advance(std::max(left, Duration(1)));
    if (auto renewed = player.runtime.renew(); !renewed) return forward(renewed);
    auto later = session.run_calls();
    if (!later) return forward(later);
    report = *std::move(later);
  }
  return report.waiting.has_value();
}

}  // namespace

std::string_view to_string(Manner manner) {
  return std::ranges::find(manners, manner, &std::pair<Manner, std::string_view>::first)->second;
}

std::optional<Manner> manner_from(std::string_view text) {
  for (const auto& [manner, word] : manners) {
    if (word == text) return manner;
  }
  return std::nullopt;
}

Message next_response(const std::vector<Message>& history, Manner manner,
                      const std::string& prefix) {
  const auto calls = world::scripted_calls(prefix);
  auto seen = seen_in(history);
  Message response{.role = Role::assistant};
  std::size_t first = 0;
  for (const std::size_t portion : portions) {
    for (std::size_t i = first; i < first + portion; ++i) {
      const Seen& so_far = seen[calls[i].op];
      const bool again = asks_again(so_far, manner);
      if (so_far.asked > 0 && !again) continue;
      response.blocks.emplace_back(
          block_for(calls[i], again && manner == Manner::rewords, response.blocks.size()));
    }
    if (!response.blocks.empty()) return response;
    first += portion;
  }
  response.blocks.emplace_back(TextBlock{.text = "The chair is on its way."});
  return response;
}

std::vector<Tool> unlucky(std::vector<Tool> tools) {
  for (Tool& tool : tools) {
    tool.run = [run = tool.run](const CallContext& call) -> ToolOutcome {
      if (call.attempt == 2) return Failed{"the program did not start"};
      return run(call);
    };
  }
  return tools;
}

std::string response_op(std::size_t messages) { return fmt::format("response-{}", messages); }

Result<std::optional<Waiting>> play(const Player& player) {
  CallsReport report;
  auto session = take_up(player, report);
  if (!session) return forward(session);
  for (;;) {
    auto waits = run_calls(player, *session, report);
    if (!waits) return forward(waits);
    if (*waits) return report.waiting;
    if (has_rested(session->state())) return std::optional<Waiting>{};
    const bool begins = session->state().transcript.empty();
    const auto input = begins ? std::optional(user_says("A chair, please.")) : std::nullopt;
    const std::size_t told = session->state().transcript.size() + (begins ? 1 : 0);
    const std::string op = player.prefix + response_op(told);
    player.say("reserving " + op);
    if (auto asked = session->record_request({.reserve_micros = response_micros}, input); !asked) {
      return forward(asked);
    }
    auto response = buy_response(player, session->state());
    if (!response) return forward(response);
    auto answered =
        session->record_response(*std::move(response), {.cost_micros = response_micros});
    if (!answered) return forward(answered);
    player.say("answered " + op);
    auto ran = session->run_calls();
    if (!ran) return forward(ran);
    report = *std::move(ran);
  }
}

}  // namespace perdure::effects
