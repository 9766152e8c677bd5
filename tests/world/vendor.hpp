// The vendor: what took effect, for ever.
//
// Its file is a log of JSON lines: `request` (somebody sent it, whatever became of it),
// `effect` (it took effect), `forgot` (the keys before it are no longer known). Each is
// synced before anybody learns of it. What is in memory is a fold over them; the same
// code folds at the start and live.

#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "perdure/core/json.hpp"
#include "world/wire.hpp"

namespace perdure::world {

class Vendor {
 public:
  /// Throws if the file cannot be read or holds anything but such lines. A last line without its
  /// end is what death left of a write, and is removed.
  explicit Vendor(const std::string& file);
  ~Vendor();
  Vendor(const Vendor&) = delete;
  Vendor& operator=(const Vendor&) = delete;

  /// That a request was sent.
  void note(const Json& request);
  /// Does what an `effect`, `look` or `verify` asks, and answers it.
  [[nodiscard]] Json serve(const Json& request);
  void forget_keys();

  [[nodiscard]] Tally tally(const std::string& op) const;
  /// In the order of their first requests.
  [[nodiscard]] const std::vector<Tally>& tallies() const { return tallies_; }

 private:
  struct Effect {
    std::string op;
    std::string key;
    Json args;
  };

  void append(const Json& row);
  void fold(const Json& row);
  Tally& tally_for(const std::string& op);
  [[nodiscard]] Json apply(const Json& request);
  [[nodiscard]] Json verdict_on(const Json& request) const;

  int file_ = -1;
  std::vector<Effect> effects_;              ///< The id of an effect is its place, from 1.
  std::map<std::string, std::size_t> keys_;  ///< The first effect under each.
  std::vector<Tally> tallies_;
};

}  // namespace perdure::world
