// How a tool reaches the world, and what it can truthfully say afterwards.

#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <variant>

#include "perdure/core/json.hpp"

namespace perdure {
namespace world {

struct Answered {
  Json answer{};
};
/// The request was sent, or a part of it, and nobody knows what became of it.
struct Lost {
  std::string why{};
};
/// Nothing happened: the world says so, or nothing was sent.
struct Denied {
  std::string why{};
};
using Reply = std::variant<Answered, Lost, Denied>;

struct EffectRequest {
  std::string op{};  ///< The business operation.
  std::string key{};
  std::string tool{};
  Json args{};
  bool honours_key = false;
};

/// Where a process may die on its way to the world and back.
enum class Moment : std::uint8_t { before_request, after_request, after_answer };

}  // namespace world

/// Speaks to the world, over a connection for each request. A value; any threads may use it.
class WorldClient {
 public:
  using AtMoment = std::function<void(world::Moment)>;

  /// `at_moment` is called at each moment of every `effect`, `look` and `verify`.
  explicit WorldClient(std::string socket, AtMoment at_moment = {});

  /// A stop ends the wait for the answer.
  [[nodiscard]] world::Reply effect(const world::EffectRequest& request,
                                    const std::stop_token& stop = {}) const;
  /// Reads something of that op; counted as a request.
  [[nodiscard]] world::Reply look(const std::string& op, const std::string& tool,
                                  const std::stop_token& stop = {}) const;
  /// {"landed": true, "answer": …} or {"landed": false}.
  [[nodiscard]] world::Reply verify_op(const std::string& op,
                                       const std::stop_token& stop = {}) const;
  [[nodiscard]] world::Reply verify_key(const std::string& key,
                                        const std::stop_token& stop = {}) const;
  /// Any request of the protocol.
  [[nodiscard]] world::Reply ask(const Json& request, const std::stop_token& stop = {}) const;

 private:
  [[nodiscard]] world::Reply send(const Json& request, const std::stop_token& stop,
                                  const AtMoment& at_moment) const;

  std::string socket_;
  AtMoment at_moment_;
};

}  // namespace perdure
