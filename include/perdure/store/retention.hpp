// Forgetting on purpose: versions, bodies, sessions, and the space they took.
//
// What a kept version, the head, a branch or a fork can see stays as it is, to the
// byte. None of this needs a lease: it changes nothing an owner rests on. Work goes
// in slices of at most 50 ms, so that commits and renewals of others go on; only a
// single body or blob of many megabytes may take longer. Cut off in the middle, by an
// error or by a death, it leaves a good store, and doing it again does the rest.
//
// What is done to one session fails with `conflict` while that is being moved to another
// store, with the place as subject. One that was moved is forgotten here alone.

#pragma once

#include <cstdint>
#include <optional>

#include "perdure/core/time.hpp"

namespace perdure {

/// Which versions stay: those that any of the rules names.
struct Keep {
  std::uint64_t last = 1;            ///< The newest so many.
  std::optional<Timestamp> since{};  ///< Those made then or later.
  std::uint64_t every = 0;           ///< Those whose number it divides; 0: no such rule.
  bool labelled = true;              ///< Those with a label.
};

struct Pruned {
  std::uint64_t versions = 0;  ///< Names removed.
  std::uint64_t entries = 0;   ///< Entries that nothing kept could see.
  std::uint64_t bytes = 0;     ///< Of their bodies.

  bool operator==(const Pruned&) const = default;
};

struct Freed {
  std::uint64_t items = 0;
  std::uint64_t bytes = 0;

  bool operator==(const Freed&) const = default;
};

}  // namespace perdure
