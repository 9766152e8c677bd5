// The one place of the tests that reads the environment.

#include "property/seeds.hpp"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <numeric>

namespace perdure {

std::vector<std::uint64_t> seeds(std::size_t runs, std::size_t runs_max) {
  const char* const seed = std::getenv("SEED");
  const char* const wanted = std::getenv("PERDURE_PROPERTY_RUNS");
  if (wanted != nullptr) runs = std::stoull(wanted);
  if (seed != nullptr && wanted == nullptr) runs = 1;
  std::vector<std::uint64_t> all(std::min(runs, runs_max));
  std::iota(all.begin(), all.end(), seed != nullptr ? std::stoull(seed) : 1);
  return all;
}

void report_held(std::size_t sequences) {
  std::cout << "property: " << sequences << " sequences, 0 violations\n";
}

std::string reproduce(std::uint64_t seed) {
  return "run the same test with SEED=" + std::to_string(seed) + " to see it again";
}

}  // namespace perdure
