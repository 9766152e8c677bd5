// A provider whose responses are bought from the world, which writes down what was paid for: the
// nth response, counted from 0, is the operation "response-n". What it says is another provider's
// to say; but first it asks again for each call of which it is told that it failed.

#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "perdure/agent/provider.hpp"
#include "perdure/core/error.hpp"
#include "perdure/runtime/state.hpp"
#include "world/client.hpp"

namespace perdure::agents {

[[nodiscard]] std::string response_op(std::size_t number);

/// Whether a response asks for calls again. The other provider does not hear of it.
[[nodiscard]] bool asks_again(const Message& response);

class BoughtModel final : public Provider {
 public:
  /// `told` hears every conversation that is about to be sent.
  BoughtModel(std::unique_ptr<Provider> real, WorldClient world,
              std::function<void(const std::vector<Message>&)> told);

  [[nodiscard]] Result<PreparedRequest> prepare(const ModelRequest& request) override;
  [[nodiscard]] ModelOutcome send(ModelObserver& observer, std::stop_token stop) override;

 private:
  std::unique_ptr<Provider> real_;
  WorldClient world_;
  std::function<void(const std::vector<Message>&)> told_;
  std::vector<Message> conversation_;
};

}  // namespace perdure::agents
