// A state that the test can compute anew from its number: a list that grows.

#pragma once

#include <string>

namespace perdure {

[[nodiscard]] inline std::string growing_state(const std::string& name, int number) {
  std::string text = R"({"of":")" + name + R"(","messages":[)";
  for (int i = 0; i < number; ++i) {
    text += (i == 0 ? "\"" : ",\"") + name + std::to_string(i) +
            std::string(200, static_cast<char>('a' + i % 26)) + "\"";
  }
  return text + "]}";
}

}  // namespace perdure
