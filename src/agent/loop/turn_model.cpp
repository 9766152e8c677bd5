// The model's part of a turn: reserve, ask, record what came of it.

#include <algorithm>
#include <cstdint>
#include <expected>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "loop/marks.hpp"
#include "loop/next_step.hpp"
#include "loop/tool_watch.hpp"
#include "loop/turn.hpp"
#include "perdure/agent/agent.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/agent/turn.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/conversation.hpp"
#include "perdure/runtime/session.hpp"
#include "perdure/runtime/session_values.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/commit.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"

namespace perdure::loop {
namespace {

// What a result is taken to have, at most, when the request that tells it is reserved before it is
// there. Once it is, what the request can cost stays reserved: for no sync if that is less.
constexpr std::int64_t result_tokens_ahead = 8192;

/// A value of the session: which limit it was warned of.
constexpr std::string_view warning_channel = "agent_warning";

std::int64_t calls_in(const Message& message) {
  return std::ranges::count_if(message.blocks, [](const Block& block) {
    return std::holds_alternative<ToolCallBlock>(block);
  });
}

bool was_warned_of(const State& state, std::int64_t limit) {
  const auto found = state.channels.find(warning_channel);
  if (found == state.channels.end() || found->second.empty()) return false;
  const auto said = parse_json(found->second.back().body.bytes());
  const Json* of = said ? said->find("limit") : nullptr;
  return of != nullptr && of->as_int64() == limit;
}

// Rounded up, and never beyond 64 bits on the way.
std::int64_t share_of(std::int64_t limit, std::int64_t percent) {
  return limit / 100 * percent + (limit % 100 * percent + 99) / 100;
}

// A number beyond all reason must not cost the response that it came with.
std::int64_t countable(std::int64_t count) { return std::min(count, tally_max); }

std::string rest_reason(const State& state, TurnStop stop, const Message& response) {
  const std::string words = words_on_rest(state, stop, response);
  if (stop != TurnStop::completed) return fmt::format("{}: {}", to_string(stop), words);
  return words.empty() ? "the next message" : "the next message; the last response: " + words;
}

}  // namespace

Result<RequestSpec> Turn::spec_of(const PreparedRequest& prepared) const {
  RequestSpec spec{.model = setup().model, .digest = prepared.digest};
  const auto known = price();
  if (known) spec.reserve_micros = reservation_for(*known, prepared);
  if (!known && state().budget.totals.limit) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("no price is known for {}, so its budget cannot be held: add the model "
                            "to the prices, or remove the budget",
                            setup().model));
  }
  return spec;
}

Turn::Stepped Turn::ask_model(std::optional<Message> say) {
  auto prepared = parts_.conversation.prepare(setup(), state(), say);
  if (!prepared) return forward(prepared);
  auto spec = spec_of(*prepared);
  if (!spec) return forward(spec);
  auto asked = parts_.session.ask(*spec, std::move(say));
  if (!asked && asked.error().code == ErrorCode::conflict && asked.error().subject == "budget") {
    return Ending{TurnStop::budget, asked.error().message};
  }
  if (!asked) return forward(asked);
  input_.reset();
  tell_news();
  StreamRelay relay(*parts_.services.watch, parts_.session.id());
  const ModelOutcome outcome = parts_.conversation.send(relay, interrupts_->token());
  return std::visit([&](const auto& came) { return take(came, *prepared); }, outcome);
}

// Never below what was paid: of what the provider did not tell, all that it can be is unconfirmed.
Usage Turn::usage_of(const ModelUsage& usage, const PreparedRequest& prepared) const {
  Usage used{.tokens_in = countable(usage.tokens_in), .tokens_out = countable(usage.tokens_out)};
  const auto known = price();
  if (!known) return used;
  used.cost_micros = countable(cost_of(*known, usage));
  if (usage.is_known) return used;
  const std::int64_t most = countable(most_of(*known, usage, prepared));
  used.unconfirmed_micros = std::max<std::int64_t>(0, most - used.cost_micros);
  return used;
}

// What of the next request can be said before there are results.
AnswerExtras Turn::extras_for(const Message& message, const ModelUsage& usage,
                              const PreparedRequest& prepared) const {
  AnswerExtras extras;
  const NextStep next = step_after(state(), message);
  if (next.rest) {
    extras.rests = StatusChange{.status = Status::waiting,
                                .wait_reason = rest_reason(state(), *next.rest, message)};
    return extras;
  }
  extras.goes_on = !asks_for_calls(message);
  const bool is_last = iterations_of(state()) + 1 >= parts_.spec.limits.iterations;
  if (extras.goes_on || is_last || is_stopped()) return extras;
  extras.then = RequestSpec{.model = setup().model};
  if (const auto known = price()) {
    PreparedRequest ahead = prepared;
    ahead.tokens_in = std::max(prepared.tokens_in, countable(usage.tokens_in)) +
                      countable(usage.tokens_out) + calls_in(message) * result_tokens_ahead;
    extras.then->reserve_micros = reservation_for(*known, ahead);
  }
  return extras;
}

Result<void> Turn::record(Message message, const Usage& usage, const AnswerExtras& extras) {
  ++report_.responses;
  if (!price()) report_.has_unknown_cost = true;
  auto recorded = parts_.session.answer(std::move(message), usage, extras);
  if (!recorded) return forward(recorded);
  tell_news();
  return warn_of_budget();
}

Turn::Stepped Turn::take(const ModelResponse& response, const PreparedRequest& prepared) {
  AskedAs asked = asked_as();
  if (asked.has_price && response.usage.is_known) {
    asked.counted = {.tokens = countable(response.usage.tokens_in),
                     .bytes = static_cast<std::int64_t>(prepared.bytes)};
  }
  Message message = marked(response, asked);
  // What its provider will not stand by is not acted on, and not sent back as if it were whole.
  if (response.stop == StopReason::refusal && asks_for_calls(message)) message.is_partial = true;
  report_.is_cut_short = response.stop == StopReason::length && !asks_for_calls(message);
  const AnswerExtras extras = extras_for(message, response.usage, prepared);
  auto recorded = record(std::move(message), usage_of(response.usage, prepared), extras);
  if (!recorded) return forward(recorded);
  if (response.stop == StopReason::refusal) {
    return Ending{TurnStop::refused, words_on(TurnStop::refused)};
  }
  return std::nullopt;
}

Turn::Stepped Turn::take(const CutOff& cut, const PreparedRequest& prepared) {
  Message message = marked(cut.so_far, asked_as());
  message.is_partial = true;
  const Usage used = usage_of(cut.so_far.usage, prepared);
  if (auto recorded = record(std::move(message), used, {}); !recorded) return forward(recorded);
  if (cut.was_stopped) return stopped();
  const bool goes_on = cut_offs_of(state()) <= parts_.spec.limits.cut_offs;
  tell(ModelFailed{cut.error.message, goes_on});
  if (goes_on) return std::nullopt;
  return fail_with(cut.error);
}

Turn::Stepped Turn::take(const NotAnswered& failure, const PreparedRequest& /*prepared*/) {
  auto given_up = parts_.session.give_up(failure.error.message, failure.may_be_paid);
  if (!given_up) return forward(given_up);
  if (failure.was_stopped) return stopped();
  tell(ModelFailed{failure.error.message, false});
  return fail_with(failure.error);
}

Turn::Stepped Turn::fail_with(const Error& error) {
  auto waits = parts_.session.set_status(
      {.status = Status::waiting, .wait_reason = "the model: " + error.message});
  if (!waits) return forward(waits);
  return std::unexpected(error);
}

Result<void> Turn::warn_of_budget() {
  const BudgetTotals& totals = state().budget.totals;
  if (!totals.limit) return {};
  // Without the request that is written ahead: nobody knows yet that it is made.
  const std::int64_t used = totals.recorded() - totals.reserved;
  const bool is_much = used >= share_of(*totals.limit, parts_.spec.limits.warn_percent);
  if (!is_much || was_warned_of(state(), *totals.limit)) return {};
  const BudgetWarning warning{.limit_micros = *totals.limit, .used_micros = used};
  const Json::Object said{{"limit", warning.limit_micros}, {"used", warning.used_micros}};
  auto written =
      parts_.session.set(std::string(warning_channel), Body::from_text(Json(said).text()));
  if (!written) return forward(written);
  tell(warning);
  return {};
}

}  // namespace perdure::loop
