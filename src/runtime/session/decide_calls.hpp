// What people decide about calls, put into a draft: at once, or as it comes out of the inbox.

#pragma once

#include <string>

#include "perdure/core/error.hpp"
#include "perdure/runtime/session.hpp"
#include "perdure/store/log.hpp"
#include "session/draft.hpp"
#include "session/parts.hpp"

namespace perdure {

/// Somebody's word on a call before it is made.
struct Word {
  bool allow = false;
  std::string who{};
  std::string why{};
  bool overrules = false;  ///< Whoever allows it knows that somebody has denied it.
};

/// Why calls of a cancelled session are not begun.
inline constexpr auto of_cancelled_session = "the session was cancelled";

/// Both fail as Session::resolve and Session::approve do, and then leave the draft as it was.
[[nodiscard]] Result<void> add_decision(SessionParts& parts, Draft& draft, Position call,
                                        const Decision& decision);
[[nodiscard]] Result<void> add_approval(SessionParts& parts, Draft& draft, Position call,
                                        const Word& word);

}  // namespace perdure
