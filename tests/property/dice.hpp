// Chance that one seed decides. The same seed gives the same throws on every machine.

#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace perdure {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}

  /// 0 … count - 1. The slight bias of the remainder does not matter here.
  std::uint64_t below(std::uint64_t count) { return engine_() % count; }
  /// From `first` to `last`, both included; `first` if there is nothing between.
  std::uint64_t between(std::uint64_t first, std::uint64_t last) {
    return last <= first ? first : first + below(last - first + 1);
  }
  bool chance(unsigned percent) { return below(100) < percent; }

  template <class T>
  const T& pick(const std::vector<T>& values) {
    return values[below(values.size())];
  }
  std::string pick(std::initializer_list<const char*> values) {
    return *(values.begin() + below(values.size()));
  }

  /// Any bytes at all.
  std::string bytes(std::size_t size) {
    std::string made;
    for (std::size_t i = 0; i < size; ++i) made += static_cast<char>(below(256));
    return made;
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace perdure
