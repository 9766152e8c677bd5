// An observer that throws nothing: what it is told comes in the middle of a stream, through a library
// that no exception may pass, and the stream goes on without it.

#pragma once

#include <string_view>

#include "perdure/agent/provider.hpp"
#include "perdure/runtime/conversation.hpp"

namespace perdure {

class QuietObserver final : public ModelObserver {
 public:
  explicit QuietObserver(ModelObserver& observer) : observer_(observer) {}

  void on_text(std::string_view piece) override {
    tell([&] { observer_.on_text(piece); });
  }
  void on_reasoning(std::string_view piece) override {
    tell([&] { observer_.on_reasoning(piece); });
  }
  void on_call(const ToolCallBlock& call) override {
    tell([&] { observer_.on_call(call); });
  }
  void on_retry(const RetryNotice& notice) override {
    tell([&] { observer_.on_retry(notice); });
  }

 private:
  template <class What>
  static void tell(const What& what) {
    try {
      what();
    } catch (...) {  // NOLINT(bugprone-empty-catch): an observer changes nothing.
    }
  }

  ModelObserver& observer_;
};

}  // namespace perdure
