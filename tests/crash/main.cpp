// The main of every test program: gtest's flags, then those of the sweeps (scale.hpp).

#include <gtest/gtest.h>
#include <iostream>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "crash/scale.hpp"

namespace perdure {
namespace {

Scale& chosen() {
  static Scale scale;
  return scale;
}

bool read_flag(std::string_view flag) {
  const auto number = [&](std::string_view name) -> std::optional<std::uint64_t> {
    if (!flag.starts_with(name)) return std::nullopt;
    return std::stoull(std::string(flag.substr(name.size())));
  };
  if (flag == "--full") {
    chosen().full = true;
  } else if (const auto seed = number("--seed=")) {
    chosen().seed = *seed;
  } else if (const auto rounds = number("--rounds=")) {
    chosen().rounds = static_cast<int>(*rounds);
  } else {
    return false;
  }
  return true;
}

}  // namespace

const Scale& scale() { return chosen(); }

void tell(std::string_view what, int deaths) {
  if (testing::Test::HasFailure()) return;
  std::cout << what << ": " << deaths << " deaths, 0 violations\n";
}

}  // namespace perdure

int main(int count, char** words) {
  testing::InitGoogleTest(&count, words);
  for (const char* flag : std::span(words, static_cast<std::size_t>(count)).subspan(1)) {
    if (perdure::read_flag(flag)) continue;
    std::cerr << words[0] << " does not know " << flag
              << ": it takes --full, --seed=N, --rounds=N\n";
    return 2;
  }
  return RUN_ALL_TESTS();
}
