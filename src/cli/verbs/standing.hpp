// Whose word about a call stands. Letters are taken in one after the other: one that comes too late is
// moved to the log and does nothing, and whoever wrote it has to hear that. One that takes another's
// place says whose.

#pragma once

#include <functional>
#include <optional>
#include <string>

#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/store.hpp"

namespace perdure::cli {

struct CallWord {
  /// approved, denied or answered; succeeded, failed, retry or abandoned.
  std::string decision{};
  std::string who{};
  std::string why{};
};

/// "denied by ben (no money)".
[[nodiscard]] std::string words_for(const CallWord& word);

/// null, or {decision, who, reason}.
[[nodiscard]] Json as_json(const std::optional<CallWord>& word);

/// What `word` would take the place of, as the log has it: a word that says something else, and that
/// nobody acted on yet. Empty: there is none.
/// Fails: as Log::read.
[[nodiscard]] Result<std::optional<CallWord>> find_overruled(Store& store, const Call& call,
                                                             const CallWord& word);

/// The denial that an approval would overrule: the last word about the call, if that is one and nobody
/// acted on it; also one that still lies in the inbox of an owner who lives.
/// Fails: as Log::read; as Inbox::list.
[[nodiscard]] Result<std::optional<CallWord>> find_denial(Store& store, const Call& call);

/// What our word took the place of, if the last decision about the call, or word on it, was made by a
/// letter after `since` whose body is ours. Letters of the same words say the same: either is ours.
/// Fails: `conflict`, with what stands instead; as Log::read; as Ledger::read.
[[nodiscard]] Result<std::optional<CallWord>> check_stands(
    Store& store, const Call& call, Position since,
    const std::function<bool(const Json& body)>& is_ours);

}  // namespace perdure::cli
