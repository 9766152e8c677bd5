// The one place of the tests that reads the environment.

#include "property/seeds.hpp"

#include <cstdlib>
#include <numeric>

namespace perdure {

std::vector<std::uint64_t> seeds(std::size_t runs) {
  if (const char* const seed = std::getenv("SEED")) return {std::stoull(seed)};
  if (const char* const wanted = std::getenv("PERDURE_PROPERTY_RUNS")) runs = std::stoull(wanted);
  std::vector<std::uint64_t> all(runs);
  std::iota(all.begin(), all.end(), std::uint64_t{1});
  return all;
}

std::string reproduce(std::uint64_t seed) {
  return "run the same test with SEED=" + std::to_string(seed) + " to see it again";
}

}  // namespace perdure
