// The model of a simulated life. It sees what a provider would be sent, asks for calls, is cut
// off, and asks again for what did not work: in the same words, in others, or only if it failed.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "property/dice.hpp"

namespace perdure::simulation {

struct Response {
  Message message{};
  Usage usage{};
  ResponseExtras extras{};
};

/// The most a response costs.
inline constexpr std::int64_t reserve_micros = 1000;

class Model {
 public:
  explicit Model(std::uint64_t seed);

  /// Different each time, as a model is. `number` is the response's own.
  [[nodiscard]] Response respond(const std::vector<Message>& history, std::uint64_t number) const;

 private:
  enum class Manner : std::uint8_t { goes_on, reissues, rewords };
  struct Asked {
    std::string tool{};
    std::string args{};
  };

  [[nodiscard]] std::vector<Asked> unsuccessful(const std::vector<Message>& history) const;
  [[nodiscard]] Asked next_call(Dice& dice, const std::vector<Asked>& missed) const;
  void add_calls(Dice& dice, Message& message, const std::vector<Message>& history) const;

  const std::uint64_t seed_;
  Manner manner_ = Manner::goes_on;
  std::vector<std::string> tools_;
};

}  // namespace perdure::simulation
