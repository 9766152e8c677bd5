// A turn as a program follows it: one JSON object a line, `perdure.run_event/1`.

#pragma once

#include <string>
#include <string_view>

#include "desk.hpp"
#include "live/whole_text.hpp"
#include "perdure/agent/agent_observer.hpp"
#include "perdure/core/json.hpp"

namespace perdure::cli {

class TurnEvents : public AgentObserver {
 public:
  explicit TurnEvents(Desk& desk) : desk_(desk) {}

  void on_text(std::string_view piece) override;
  void on_retry(const RetryNotice& notice) override;
  void on_event(const AgentEvent& event) override;
  void on_progress(const CallProgress& progress) override;

 private:
  void write(std::string_view name, Json::Object members);

  Desk& desk_;
  WholeText text_;
};

/// Writes one event, and at once.
void write_event(Desk& desk, std::string_view name, Json::Object members);

}  // namespace perdure::cli
