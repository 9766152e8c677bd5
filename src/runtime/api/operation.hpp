// Which operation a call is: the key under which it is claimed.
//
// SHA-256 over length-prefixed fields: the version of this rule, the scope, the tool,
// and the digest of what names the operation: the business key, or else all arguments, in
// canonical form and with the schema's defaults filled in. Computed once, stored, never again:
// a fork that makes the call in another scope goes by the digest, and needs no tool for it.
//
// Names of sessions are used again, and in many stores: so the scope of a call and that of a
// tree have a nonce each.
//
// And what the log says of a call that the ledger has: its arguments, and what came of it.
//
// A call of the dispatcher has both in messages. One of a Checkpointer has them as bare text, in
// two entries of a channel of its own.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/store.hpp"
#include "runtime/api/state_details.hpp"

namespace perdure::dispatch {

/// Of what two calls must be in to be one operation.
struct Place {
  std::string_view session{};  ///< The session of the call.
  Position call = 0;
  std::string_view nonce{};  ///< Of the call.
  std::string_view root{};   ///< Of the tree of forks and children.
  std::string_view root_nonce{};
};

struct Operation {
  Digest key{};
  Digest args{};                 ///< Of the arguments with defaults, canonical.
  std::optional<Digest> name{};  ///< Of the business key; empty: the arguments name it.
  std::string scope{};           ///< In words, for the intent.
};

/// Fails: `invalid_argument` if the arguments have no canonical form or lack the business key;
/// `corrupted` for what is done once in the tree, if its nonce is not known.
[[nodiscard]] Result<Operation> operation_of(const Tool& tool, const Json& args,
                                             const Place& place);

/// The operation of a call that was intended elsewhere, as it is in that place. Its key is the one
/// that operation_of makes there.
[[nodiscard]] Operation operation_in(const OpenCall& call, const Place& place);

/// That of the operation, wherever it is: to compare what two calls of one key were given.
/// Fails: `invalid_argument` if the arguments have no canonical form.
[[nodiscard]] Result<Digest> args_digest_of(const Tool& tool, const Json& args);

/// What a vendor gets as Idempotency-Key: the key, and how many attempts have failed, since a
/// vendor may keep the answer to a failed one.
[[nodiscard]] std::string vendor_key(const Digest& key, std::int64_t failures);

inline constexpr const char* book_channel = "tool_calls";
inline constexpr const char* book_error_kind = "error";
/// Follows the arguments of a call whose operation failed before: how often.
inline constexpr const char* book_generation_kind = "generation";

/// What the model is told of a call.
struct Told {
  std::string content{};
  bool is_error = false;
  std::string replay_of{};  ///< "ses_…:12": whose result it is.
};

/// Both are empty where it was never written, or is erased, damaged, pruned, gone with its session.
/// Fails: as Log::read.
[[nodiscard]] Result<std::optional<std::string>> recorded_args(Store& store, const Call& call);
[[nodiscard]] Result<std::optional<Told>> recorded_result(Store& store, const Call& call);
/// The generation of the vendor's key under which a checkpointer issued the call. It is written down,
/// because calls that failed before it may be deleted with their sessions. Empty for a call that is not
/// a checkpointer's, or whose record is gone.
/// Fails: as Log::read.
[[nodiscard]] Result<std::optional<std::int64_t>> recorded_generation(Store& store,
                                                                      const Call& call);
/// What a model is told of a call that has come to an end: its result, or that it is no longer kept.
[[nodiscard]] Result<Told> told_result(Store& store, const Call& call);

}  // namespace perdure::dispatch
