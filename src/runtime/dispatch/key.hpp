// Which operation a call is: the key under which it is claimed.
//
// SHA-256 over length-prefixed fields: the version of this rule, the scope, the tool,
// and what names the operation: the business key, or else all arguments, in canonical
// form and with the schema's defaults filled in. Computed once, stored, never again.

#pragma once

#include <string>
#include <string_view>

#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/entry.hpp"

namespace perdure::dispatch {

/// Of what two calls must be in to be one operation.
struct Place {
  std::string_view session{};  ///< The session of the call.
  Position call = 0;
  std::string_view root{};  ///< Of the tree of forks and children.
};

struct Operation {
  Digest key{};
  Digest args{};        ///< Of the arguments with defaults, canonical.
  std::string scope{};  ///< In words, for the intent.
};

/// Fails: `invalid_argument` if the arguments have no canonical form or lack the business key.
[[nodiscard]] Result<Operation> operation_of(const Tool& tool, const Json& args,
                                             const Place& place);

/// What a vendor gets as Idempotency-Key: the key, and how many attempts have failed, since a
/// vendor may keep the answer to a failed one.
[[nodiscard]] std::string vendor_key(const Digest& key, std::int64_t failures);

}  // namespace perdure::dispatch
