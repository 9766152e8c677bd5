// One run of the loop over a session.
//
// A step is: take in what others left, run the calls that are open, then ask the model once. What
// it is asked follows from the state (next_step.hpp), so nothing is lost with this object but the
// time since the last response.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>

#include "loop/conversation.hpp"
#include "loop/interrupts.hpp"
#include "loop/marks.hpp"
#include "loop/tool_watch.hpp"
#include "perdure/agent/agent.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/calls.hpp"
#include "perdure/runtime/conversation.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/session.hpp"

namespace perdure::loop {

struct TurnParts {
  const AgentSpec& spec;
  const AgentServices& services;
  Session& session;
  Conversation& conversation;
  std::stop_token stop{};  ///< Of whoever runs it.
};

class Turn {
 public:
  explicit Turn(TurnParts parts);

  /// `input` has its id and time. Fails: as AgentSession::run.
  [[nodiscard]] Result<TurnReport> run(std::optional<Message> input);

 private:
  struct Ending {
    TurnStop stop = TurnStop::completed;
    std::string why{};
    std::optional<Waiting> waiting{};
  };
  /// Empty: it goes on.
  using Stepped = Result<std::optional<Ending>>;

  [[nodiscard]] Result<void> begin();
  [[nodiscard]] Result<void> put_input_first();
  void keep_input(const Error& error);
  [[nodiscard]] Stepped step();
  [[nodiscard]] Stepped look_around();
  [[nodiscard]] Stepped run_calls();
  /// How it ends, once it was stopped.
  [[nodiscard]] Stepped stopped();
  [[nodiscard]] std::optional<Ending> beyond_limits() const;
  [[nodiscard]] Ending out_of_time() const;
  [[nodiscard]] Stepped ask_model(std::optional<Message> say);
  [[nodiscard]] Result<RequestSpec> spec_of(const PreparedRequest& prepared) const;

  [[nodiscard]] Stepped take(const ModelResponse& response, const PreparedRequest& prepared);
  [[nodiscard]] Stepped take(const CutOff& cut, const PreparedRequest& prepared);
  [[nodiscard]] Stepped take(const NotAnswered& failure, const PreparedRequest& prepared);
  [[nodiscard]] Result<void> record(Message message, const Usage& usage,
                                    const ResponseExtras& extras);
  [[nodiscard]] ResponseExtras extras_for(const Message& message, const ModelUsage& usage,
                                          const PreparedRequest& prepared) const;
  [[nodiscard]] Usage usage_of(const ModelUsage& usage, const PreparedRequest& prepared) const;
  [[nodiscard]] Result<void> warn_of_budget();
  /// The session waits, and says why; then the error is returned.
  [[nodiscard]] Stepped fail_with(const Error& error);

  /// Why it rests after the last response, for a person.
  [[nodiscard]] std::string words_on(TurnStop rest) const;
  [[nodiscard]] Result<TurnReport> end(const Ending& ending);
  [[nodiscard]] Result<void> write_stop(const Ending& ending);
  [[nodiscard]] Result<void> write_time();
  void tell(const AgentEvent& event);
  /// What was recorded since the last time.
  void tell_news();

  [[nodiscard]] const State& state() const { return parts_.session.state(); }
  [[nodiscard]] const Setup& setup() const { return *state().setup; }
  [[nodiscard]] std::optional<Price> price() const {
    return parts_.spec.prices.find(setup().model);
  }
  [[nodiscard]] bool is_stopped() const { return interrupts_->token().stop_requested(); }
  /// By the turn, in this process and those before it.
  [[nodiscard]] Duration used() const {
    return used_before_ + (parts_.services.clock->uptime() - began_);
  }
  [[nodiscard]] bool is_counted() const { return parts_.spec.limits.time.has_value(); }
  [[nodiscard]] AskedAs asked_as() const {
    return {.model = setup().model,
            .has_price = price().has_value(),
            .used = is_counted() ? std::optional(used()) : std::nullopt};
  }

  const TurnParts parts_;
  const Uptime began_;
  Duration used_before_{0};
  std::optional<Interrupts> interrupts_;  ///< From the beginning of the run.
  std::optional<Message> input_;          ///< Until it is recorded.
  TurnReport report_;
  std::size_t told_;  ///< Messages that the observer knows of.
  Position told_head_;
};

}  // namespace perdure::loop
