// Where the calls of a session stand after the dispatcher has done what it could.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "perdure/core/time.hpp"
#include "perdure/store/log.hpp"

namespace perdure {

/// Why the session cannot go on by itself.
struct Waiting {
  enum class For : std::uint8_t {
    approval,  ///< Somebody's word, before the call is made.
    decision,  ///< It is in doubt: somebody has to resolve it.
    time,      ///< It is asked again at `until`.
  };
  Position call = 0;
  std::string tool{};
  For what = For::decision;
  std::string why{};
  std::optional<Timestamp> until{};
  bool operator==(const Waiting&) const = default;
};

struct CallsReport {
  std::uint64_t run = 0;       ///< Attempts made, first and later ones.
  std::uint64_t retried = 0;   ///< Of these, attempts after the first of their call.
  std::uint64_t verified = 0;  ///< Asked whether they took effect.
  std::uint64_t replayed = 0;  ///< Answered by what another call had done already.
  std::uint64_t refused = 0;   ///< Not made: no such tool, bad arguments, blocked, not approved.
  std::uint64_t in_doubt = 0;  ///< Came to be in doubt, or are still.
  /// Empty: every call is answered and the model may be asked.
  std::optional<Waiting> waiting{};
  bool operator==(const CallsReport&) const = default;
};

}  // namespace perdure
