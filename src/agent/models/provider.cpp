// The seam's own few words.

#include "perdure/agent/provider.hpp"

#include <string_view>

#include "perdure/runtime/conversation.hpp"

namespace perdure {

ModelObserver::~ModelObserver() = default;
void ModelObserver::on_text(std::string_view /*piece*/) {}
void ModelObserver::on_reasoning(std::string_view /*piece*/) {}
void ModelObserver::on_call(const ToolCallBlock& /*call*/) {}
void ModelObserver::on_retry(const RetryNotice& /*notice*/) {}

Provider::~Provider() = default;

std::string_view to_string(StopReason reason) {
  switch (reason) {
    case StopReason::end:
      return "end";
    case StopReason::calls:
      return "calls";
    case StopReason::length:
      return "length";
    case StopReason::refusal:
      return "refusal";
    case StopReason::paused:
      return "paused";
    case StopReason::other:
      return "other";
  }
  return "other";
}

}  // namespace perdure
