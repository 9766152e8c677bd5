// What a session is, folded from its log.
//
// The same fold runs live, over what was just committed, and at resume, over all of it. It
// never fails: an entry that is erased, damaged, of an unknown kind or not what its kind
// says is passed over, and noted in `skipped`. What it would have replaced stays in force.
//
// Channels this version knows are folded into the members here; those of any other name are
// the user's, and kept as they are.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/calls.hpp"
#include "perdure/runtime/conversation.hpp"
#include "perdure/runtime/session_values.hpp"
#include "perdure/store/log.hpp"

namespace perdure {

struct PlacedMessage {
  Position position = 0;
  Message message{};
  bool operator==(const PlacedMessage&) const = default;
};

/// A call whose outcome the transcript does not have: it was not started, or runs, or is in
/// doubt; the ledger knows which.
struct OpenCall {
  Position call = 0;        ///< Of its intent.
  Position message = 0;     ///< That asks for it; 0: none.
  std::uint64_t block = 0;  ///< Of that message.
  std::string tool{};
  std::string provider_id{};
  std::optional<std::string> args{};  ///< Only where no message has them: see args_of.
  Digest args_digest{};
  std::optional<Digest> operation{};  ///< Of the business key, as in Intent.
  std::string repeat{};
  std::string scope{};
  std::string nonce{};
  PermitDecision permission{.permit = Permit::allow};  ///< When it was asked for.
  std::int64_t attempts = 0;
  std::int64_t not_landed = 0;  ///< So many of them, the first ones, did nothing: verify said so.
  std::int64_t key_generation = 0;  ///< Of the vendor's key, from the first attempt on.
  std::optional<Timestamp> first_attempt{};
  std::string worker{};                ///< Who made the last attempt.
  std::optional<std::string> doubt{};  ///< Why it is in doubt; empty: nobody said that it is.
  /// When it was recorded that the last attempt has come back, or that its process has ended.
  std::optional<Timestamp> ended_at{};
  bool is_told = false;     ///< The model has been told that its outcome is unknown.
  bool is_retried = false;  ///< Somebody decided that it be run once more.
  bool operator==(const OpenCall&) const = default;
};

/// A model was asked, and its answer is not there.
struct OpenRequest {
  Position position = 0;
  Request request{};
  bool operator==(const OpenRequest&) const = default;
};

/// An entry of a user's channel.
struct ChannelItem {
  Position position = 0;
  std::string kind{};
  Body body{};
  bool operator==(const ChannelItem&) const = default;
};

enum class SkipReason : std::uint8_t {
  erased,
  damaged,
  blob,        ///< Its body is a blob: load it before folding.
  other_kind,  ///< A kind that its channel does not have in this version.
  newer,       ///< Written by a newer version.
  unreadable,  ///< Not what its kind says.
  refused,     ///< Readable, and against the rules of what it changes.
};

struct Skipped {
  Position position = 0;
  std::string channel{};
  SkipReason reason = SkipReason::unreadable;
  bool operator==(const Skipped&) const = default;
};

/// A value.
struct State {
  Position head = 0;          ///< Of the last entry folded; 0: none.
  std::uint64_t entries = 0;  ///< How many were folded.
  Tally totals{};             ///< What all entries folded add up to, passed over or not.
  std::optional<Setup> setup{};
  std::vector<PlacedMessage> transcript{};  ///< By position.
  std::optional<Plan> plan{};
  Budget budget{};
  Counters counters{};
  Approvals approvals{};
  Scratchpad scratchpad{};
  std::optional<Origin> origin{};
  std::map<std::string, Child, std::less<>> children{};  ///< By session id, ended or not.
  std::optional<ChildEnd> end{};                         ///< What its parent is told.
  std::optional<StatusNote> status{};                    ///< The last change of it.
  std::optional<OpenRequest> request{};
  std::map<Position, OpenCall> open_calls{};
  /// After a `replace` entry one item, and what was appended since.
  std::map<std::string, std::vector<ChannelItem>, std::less<>> channels{};
  std::vector<Skipped> skipped{};
  bool operator==(const State&) const = default;
};

/// Takes the next entry of the line in. A `replace` entry of a list empties it first.
void fold(State& state, const Entry& entry);

/// Whether `channel` is one of those that fold() has a member for.
[[nodiscard]] bool is_reserved(std::string_view channel);

/// The message at that position; null if there is none.
[[nodiscard]] const Message* find_message(const State& state, Position position);

/// The arguments as the model wrote them; empty if the message that has them cannot be read.
/// Lives as long as the state is not changed.
[[nodiscard]] std::optional<std::string_view> args_of(const State& state, const OpenCall& call);

}  // namespace perdure
