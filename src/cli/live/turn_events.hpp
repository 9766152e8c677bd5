// A turn as a program follows it: one JSON object a line, `perdure.run_event/1`.

#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "desk.hpp"
#include "live/whole_text.hpp"
#include "perdure/agent/turn.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"

namespace perdure::cli {

class TurnEvents : public AgentObserver {
 public:
  TurnEvents(Desk& desk, SessionId session) : desk_(desk), session_(std::move(session)) {}

  void on_text(std::string_view piece) override;
  void on_retry(const RetryNotice& notice) override;
  void on_event(const AgentEvent& event) override;
  void on_progress(const CallProgress& progress) override;

 private:
  void write(std::string_view name, Json::Object members);
  [[nodiscard]] std::string name_of(Position call) const { return call_name(session_, call); }

  Desk& desk_;
  SessionId session_;
  WholeText text_;
};

/// Writes one event, and at once.
void write_event(Desk& desk, std::string_view name, Json::Object members);

}  // namespace perdure::cli
