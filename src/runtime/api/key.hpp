// Which operation a call is: the key under which it is claimed.
//
// SHA-256 over length-prefixed fields: the version of this rule, the scope, the tool,
// and the digest of what names the operation: the business key, or else all arguments, in
// canonical form and with the schema's defaults filled in. Computed once, stored, never again:
// a fork that makes the call in another scope goes by the digest, and needs no tool for it.
//
// Names of sessions are used again, and in many stores: so the scope of a call and that of a
// tree have a nonce each.

#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/log.hpp"

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

}  // namespace perdure::dispatch
