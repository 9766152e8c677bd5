// How the program ends: scripts and agents branch on these numbers, so they never change.

#pragma once

#include <cstdint>
#include <string_view>

#include "perdure/core/error.hpp"

namespace perdure::cli {

enum class Exit : std::uint8_t {
  done = 0,
  failed = 1,
  usage = 2,
  not_found = 3,  ///< Or ambiguous.
  not_authorised = 4,
  in_use = 5,  ///< The session or the store.
  damaged = 6,
  in_doubt = 7,       ///< Stopped: a call is in doubt.
  resting = 8,        ///< Stopped: paused or waiting.
  unconfirmed = 9,    ///< Confirmation needed, or refused.
  unsupported = 10,   ///< The store's format.
  interrupted = 130,  ///< By Ctrl-C; resumable, as is:
  terminated = 143,
};

[[nodiscard]] Exit exit_for(const Error& error);

/// What the number means, in a few words.
[[nodiscard]] std::string_view meaning_of(Exit exit);

}  // namespace perdure::cli
