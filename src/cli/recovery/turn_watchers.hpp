// A turn as a person watches it: the model's words as they come, on stdout if that is a terminal, and
// a line for each step on stderr: number, what it was, effect class, state, how long it took. While a
// tool runs, a terminal also shows its last line of progress. And a turn as a program follows it: one JSON
// object a line, `perdure.run_event/1`.

#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "context/command_context.hpp"
#include "perdure/agent/agent.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/core/id.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/session.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "runtime/api/read.hpp"
#include "screen/text.hpp"

namespace perdure::cli {

/// A line on stderr: a wait is never silent.
void tell_retry(CommandContext& context, const RetryNotice& notice);

class TurnPrinter : public AgentObserver {
 public:
  /// All must outlive it.
  TurnPrinter(CommandContext& context, Store& store, const Session& session);
  ~TurnPrinter() override;

  void on_text(std::string_view piece) override;
  void on_retry(const RetryNotice& notice) override;
  void on_event(const AgentEvent& event) override;
  void on_progress(const CallProgress& progress) override;

 private:
  void take(const CallStarted& event);
  void take(const CallReturned& event);
  void take(const CallTold& event);
  void take(const CallWaits& event);
  void take(const Recorded& event);
  void take(const BudgetWarning& event);
  void take(const ModelFailed& event);
  void take(const TurnEnded& event);

  void tell_call(const CallTold& told);
  /// In the place of what was shown so before; it is taken back by whatever comes next.
  void show_running(std::string_view tool, std::string_view line);
  /// Ends the line that the model's words are in, and takes back the line of what runs.
  void break_line();
  void tell(std::string_view kind, std::string_view name, std::string_view effect, Piece state,
            Duration took);

  CommandContext& context_;
  Store& store_;
  const Session& session_;
  const bool streams_;  ///< stdout is a terminal.
  const bool redraws_;  ///< stderr is one that can take a line back.
  WholeText text_;
  bool is_in_line_ = false;
  bool shows_running_ = false;
  StepNumber number_;
  Tally told_;  ///< Totals as of the last step that was told.
  Uptime asked_at_;
  std::vector<CallTold> calls_;  ///< Told since the last commit was.
  std::map<Position, Uptime> started_;
  std::map<Position, Duration> took_;
};

class TurnEventWriter : public AgentObserver {
 public:
  TurnEventWriter(CommandContext& context, SessionId session)
      : context_(context), session_(std::move(session)) {}

  void on_text(std::string_view piece) override;
  void on_retry(const RetryNotice& notice) override;
  void on_event(const AgentEvent& event) override;
  void on_progress(const CallProgress& progress) override;

 private:
  void write(std::string_view name, Json::Object members);
  [[nodiscard]] std::string name_of(Position call) const { return call_name(session_, call); }

  CommandContext& context_;
  SessionId session_;
  WholeText text_;
};

/// Writes one event, and at once.
void write_event(CommandContext& context, std::string_view name, Json::Object members);

}  // namespace perdure::cli
