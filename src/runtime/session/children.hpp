// The two sides of a child: how it begins, how its parent hears of its end.

#pragma once

#include <map>
#include <optional>
#include <string>

#include "perdure/core/error.hpp"
#include "perdure/runtime/session_values.hpp"
#include "perdure/store/commit.hpp"
#include "perdure/store/sessions.hpp"
#include "session/draft.hpp"
#include "session/held_session.hpp"

namespace perdure {

struct SessionParts;

/// A parent's accounts as they are when a draft gets there: one draft may hold the ends of several
/// children.
struct Accounts {
  Budget budget{};
  std::map<std::string, Child, std::less<>> children{};
};
[[nodiscard]] Accounts accounts_of(const HeldSession& held);

/// What a session without an origin lacks in its log.
/// Fails: as Log::read.
[[nodiscard]] Result<void> add_beginning(const HeldSession& held,
                                         const std::optional<Parent>& parent, Draft& draft);

/// How a session ends.
struct Ending {
  StatusChange change{};
  std::string result{};
};

/// Nothing that a session began is open: it may be completed, fail, go back.
/// Fails: `conflict`, with the call as subject; as the ledger's readers.
[[nodiscard]] Result<void> check_all_settled(HeldSession& held);

/// That the session ends so, and what it spent. `budget`: as it is when the draft gets there.
[[nodiscard]] Result<void> add_end(const SessionParts& parts, Draft& draft, Budget& budget,
                                   const Ending& ending);

/// Tells the parent, if there is one, how the session ended, if it did.
/// Fails: as Inbox::post; a parent that is gone is not an error.
[[nodiscard]] Result<void> tell_parent(const SessionParts& parts);

/// What a child's end changes in its parent; nothing, if it was told before.
void add_result(Draft& draft, Accounts& accounts, const ChildEnd& end);

/// Looks for children that ended and could not tell.
/// Fails: as Sessions::read, as Store::commit.
[[nodiscard]] Result<void> ask_children(SessionParts& parts);

}  // namespace perdure
