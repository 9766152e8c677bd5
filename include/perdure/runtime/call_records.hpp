// What the log says of a call of a tool. The ledger (store/ledger.hpp) has its state; these
// are the facts around it, on channel `calls`, and the marks on the result that settles it.
//
// A result is a `tool_result` block with the members `call`, the position of the intent,
// and `outcome`, a state of the ledger. They ride among the members a block does not know,
// so that the block stays what providers make of it.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "perdure/core/error.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/runtime/message.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"

namespace perdure {

/// Kind `intent`: a call that is about to be made. Its arguments are a block of a message, or
/// stand here where no message has them. A later intent for the same block replaces an earlier one:
/// a fork makes the call as one of its own (Runtime::fork).
struct Intent {
  Position message = 0;     ///< 0: no message.
  std::uint64_t block = 0;  ///< Which block of the message, from 0.
  std::optional<std::string> args{};
  std::string tool{};
  std::string provider_id{};
  Digest args_digest{};
  /// Of the business key, where that names the operation and not the arguments.
  std::optional<Digest> operation{};
  std::string repeat{};  ///< The tool's repeat rule, as a word.
  std::string scope{};   ///< What the rule made of it.
  std::string nonce{};   ///< Makes the call another one than that of an earlier life of the id.
  Unknown unknown{};
  bool operator==(const Intent&) const = default;
};

/// Kind `attempt`: the call is dispatched, and by whom: in the commit that does it.
struct Attempted {
  Position call = 0;
  std::int64_t number = 1;
  std::string worker{};
  /// How many calls had failed under the key when the first attempt began: part of the vendor's key.
  std::int64_t key_generation = 0;
  /// A verify said that no earlier attempt took effect, when none could any more.
  bool none_landed = false;
  Unknown unknown{};
  bool operator==(const Attempted&) const = default;
};

/// Kind `doubt`: nobody knows what became of the call, and why.
struct Doubt {
  Position call = 0;
  std::string why{};
  /// The attempt has come back, so its maker says; or the process that made it has ended.
  bool has_ended = false;
  Unknown unknown{};
  bool operator==(const Doubt&) const = default;
};

/// Kind `evidence`: something that bears on what became of it.
struct Evidence {
  Position call = 0;
  std::string text{};
  Unknown unknown{};
  bool operator==(const Evidence&) const = default;
};

/// Kind `resolution`: who settled it, how, and why.
struct Resolution {
  Position call = 0;
  std::string decision{};  ///< succeeded, failed, retry or abandoned.
  std::string who{};
  std::string why{};
  Unknown unknown{};
  bool operator==(const Resolution&) const = default;
};

/// Channel `requests`, kind `request`: a model is about to be asked. Kind `lost`: no
/// response came, and it may have been paid for. Kind `withdrawn`: it was not made, or cost nothing.
struct Request {
  std::string reservation{};  ///< Its id in the budget; empty if nothing was reserved.
  std::string model{};
  Digest digest{};  ///< Of what is sent; nothing is said of one that is written ahead.
  /// Written before what it is to tell is known; it is written once more before it is sent.
  bool is_ahead = false;
  std::string loss_token{};  ///< Of one that is written ahead: the store's word then (upkeep.hpp).
  Unknown unknown{};
  bool operator==(const Request&) const = default;
};

[[nodiscard]] std::string to_json(const Intent& intent);
[[nodiscard]] std::string to_json(const Attempted& attempt);
[[nodiscard]] std::string to_json(const Doubt& doubt);
[[nodiscard]] std::string to_json(const Evidence& evidence);
[[nodiscard]] std::string to_json(const Resolution& resolution);
[[nodiscard]] std::string to_json(const Request& request);

// Each fails: `invalid_argument` for text that is none; `unsupported` for a newer version.
[[nodiscard]] Result<Intent> intent_from_json(std::string_view text);
[[nodiscard]] Result<Attempted> attempt_from_json(std::string_view text);
[[nodiscard]] Result<Doubt> doubt_from_json(std::string_view text);
[[nodiscard]] Result<Evidence> evidence_from_json(std::string_view text);
[[nodiscard]] Result<Resolution> resolution_from_json(std::string_view text);
[[nodiscard]] Result<Request> request_from_json(std::string_view text);

struct Outcome {
  Position call = 0;
  std::optional<CallState> state{};  ///< Empty: missing, or a word this version does not know.
  bool operator==(const Outcome&) const = default;

  /// succeeded, failed, denied, cancelled or abandoned: nothing more follows.
  [[nodiscard]] bool is_final() const;
};

/// Marks a result, in place of an earlier mark.
void set_outcome(ToolResultBlock& result, const Outcome& outcome);
/// The mark of a result; empty if it has none.
[[nodiscard]] std::optional<Outcome> outcome_of(const ToolResultBlock& result);

}  // namespace perdure
