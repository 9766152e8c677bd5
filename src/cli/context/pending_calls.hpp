// Calls that wait for somebody, what each of them waits for, and which one a person means.
//
//   CALL   SES:12, the position of its intent; SES alone if only one call of it is meant

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"

namespace perdure::cli {

enum class Need : std::uint8_t {
  decision,  ///< It is in doubt.
  resume,    ///< It was left by an owner that is gone.
  approval,  ///< It was not made yet, and somebody was asked whether it may be.
  answer,    ///< It is a question.
};

[[nodiscard]] std::string_view to_string(Need need);

/// What a call without an outcome waits for, however its session stands; empty: for its turn, or for
/// what is under way. Without a state, because it cannot be read, the session's status alone tells
/// whether anybody was asked.
[[nodiscard]] std::optional<Need> need_of(const Call& call, const SessionSummary& session,
                                          const State* state);

struct PendingCall {
  Call call{};
  Need need = Need::decision;
};

/// Calls without an outcome, of one session or of all.
[[nodiscard]] CallQuery unsettled_calls(const std::optional<SessionId>& session);

/// Those of them that wait for somebody.
/// Fails: as Ledger::list.
[[nodiscard]] Result<std::vector<PendingCall>> read_pending(Store& store,
                                                            const SessionSummary& session);

/// Of a session's calls the one that has one of these needs; if none has, the only one that is pending,
/// so that a verb can say what is to be done with it instead. If nothing is pending, and approvals are
/// meant, the only one that is not made yet: a word can be taken back until it is.
/// Fails: as find_session; as Ledger::read; `not_found` if none or several may be meant.
[[nodiscard]] Result<Call> find_call(Store& store, const std::string& text,
                                     const std::vector<Need>& needs);

}  // namespace perdure::cli
