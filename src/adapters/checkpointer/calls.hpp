// What the ledger and the log say of a call, as a checkpointer tells it.
//
// Its own calls are two entries on the channel `tool_calls`: the arguments, which are also the
// call's intent, and what became of it, each as the bare text that was handed in. Calls of the
// runtime's dispatcher have both in messages.

#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "perdure/adapters/checkpointer.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/store.hpp"
#include "runtime/api/key.hpp"

namespace perdure::checkpointing {

/// Where a call stands: in a session of a tree, at a position.
struct Site {
  const SessionId& session;
  Origin origin{};
  Position call = 0;
  std::string nonce{};  ///< Of the call.
};

/// Which operation the call is: the key that the dispatcher would give it.
/// Fails: as dispatch::operation_of.
[[nodiscard]] Result<dispatch::Operation> operation_of(const Checkpointer::ToolCall& call,
                                                       const Site& site);

/// How often the operation has failed: a vendor may keep its answer to an attempt that failed, so each
/// failure changes the key that it is given.
/// Fails: as Ledger::by_key.
[[nodiscard]] Result<std::int64_t> failures_of(Store& store, const Digest& key);

/// The key that the vendor was given when the call was issued.
/// Fails: as Ledger::by_key and Log::read.
[[nodiscard]] Result<std::string> key_at_vendor(Store& store, const Call& call);

/// Writes the call down, with the generation of its vendor's key, and claims its key.
[[nodiscard]] Batch issue_of(const Checkpointer::ToolCall& call, Position at, const Digest& key,
                             std::int64_t generation);

/// Writes down what became of the call at `call`; the entry gets the position `at`.
[[nodiscard]] Batch result_of(Position call, const ToolOutcome& outcome, Position at,
                              const std::string& who);

/// Fails: `conflict` if a call in doubt is to have failed because a later run of it did nothing.
[[nodiscard]] Result<void> check_may_end(const Call& call, const ToolOutcome& outcome,
                                         const std::string& who);

/// Whether that outcome is the one the call has.
/// Fails: as Log::read.
[[nodiscard]] Result<bool> is_outcome(Store& store, const Call& call, const ToolOutcome& outcome);

/// Fails: as Log::read; what is erased or gone is not an error.
[[nodiscard]] Result<Checkpointer::Completed> completed(Store& store, const Call& call);
[[nodiscard]] Result<Checkpointer::Pending> pending(Store& store, const Call& call);

/// Fails: `conflict` if the holder of the key was issued with other arguments.
[[nodiscard]] Result<void> check_same_args(Store& store, const Call& holder,
                                           const Checkpointer::ToolCall& call,
                                           const dispatch::Operation& operation);

}  // namespace perdure::checkpointing
