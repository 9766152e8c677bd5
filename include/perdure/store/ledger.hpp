// The record of every call: what was intended, what was started, what became of it.
//
// A call's identity is its session and the position of its intent. Arguments and results stay in
// the log, and are referred to by position. States move only along these arrows, inside a commit:
//
//   intended ──► dispatched ──► succeeded | failed | in_doubt
//       └──► denied | cancelled          failed ──► dispatched      (attempt + 1)
//   in_doubt ──► succeeded | failed | abandoned | dispatched        (attempt + 1)
//
// `failed` states that nothing happened; `abandoned` may have happened. A call holds its key while
// dispatched, in doubt, succeeded or abandoned; to dispatch a call is to claim its key.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"

namespace perdure {

enum class CallState : std::uint8_t {
  intended,
  dispatched,
  succeeded,
  failed,
  in_doubt,
  abandoned,
  denied,
  cancelled,
};

[[nodiscard]] std::string_view to_string(CallState state);

/// What a second run of the call would mean. Derived from what its tool declares.
enum class EffectClass : std::uint8_t { read_only, idempotent, verifiable, unsafe };

[[nodiscard]] std::string_view to_string(EffectClass effect);

/// Records a call. `call` is the position of its intent, an entry of the same batch; `args` that of
/// the entry with its arguments, in the batch or before it.
struct Intend {
  Position call = 0;
  Position args = 0;
  std::string tool{};
  std::string provider_id{};  ///< The model API's id for it: any bytes, never identity.
  EffectClass effect = EffectClass::unsafe;
  std::optional<Digest> key{};
};

/// Claims the call's key and starts an attempt, under the fence of the commit's lease.
struct Dispatch {
  Position call = 0;
  std::optional<Timestamp> deadline{};
};

/// Says what became of the call: any state but `intended` and `dispatched`.
struct Settle {
  Position call = 0;
  CallState state = CallState::in_doubt;
  std::optional<Position> result{};  ///< The entry that holds the result.
  std::string who{};                 ///< Who resolved it, if a person or a policy did.
  std::string why{};
};

using CallChange = std::variant<Intend, Dispatch, Settle>;

struct Call {
  SessionId session{};
  Position position = 0;
  Position args = 0;
  std::optional<Position> result{};
  std::string tool{};
  std::string provider_id{};
  EffectClass effect = EffectClass::unsafe;
  std::optional<Digest> key{};
  /// The key that it held where it was imported from, unless a person accepted the bundle's claims.
  /// Then it holds no key here, and `key` is empty.
  std::optional<Digest> claimed{};
  CallState state = CallState::intended;
  std::int64_t attempts = 0;  ///< How often it was dispatched.
  std::int64_t failures = 0;  ///< How often it ended in `failed`.
  Fence fence = 0;            ///< Of the last dispatch.
  Timestamp intended_at{};
  std::optional<Timestamp> dispatched_at{};
  std::optional<Timestamp> deadline{};
  std::optional<Timestamp> settled_at{};
  std::string who{};
  std::string why{};
  bool operator==(const Call&) const = default;
};

/// "ses_01j…:12", how errors and people name a call.
[[nodiscard]] std::string call_name(const SessionId& session, Position position);

struct CallId {
  SessionId session{};
  Position position = 0;
};

struct CallQuery {
  std::optional<SessionId> session{};  ///< Empty: all sessions.
  std::vector<CallState> states{};     ///< Empty: any.
  std::optional<CallId> after{};       ///< The last call of the page before.
  std::size_t limit = 1000;
};

class Ledger {
 public:
  virtual ~Ledger() = default;

  /// Fails: `not_found`.
  [[nodiscard]] virtual Result<Call> read(const SessionId& session, Position call) = 0;

  /// The call that holds the key now, in any session. Of a removed session the payload is gone:
  /// arguments, result, the provider's id, who and why.
  [[nodiscard]] virtual Result<std::optional<Call>> find_holder(const Digest& key) = 0;

  /// Matching calls by the age of their session, then by position: fewer than `limit` only at the
  /// end.
  /// Fails: `not_found` for a session that does not exist, also that of `after`: begin again;
  /// `invalid_argument` for a bad limit.
  [[nodiscard]] virtual Result<std::vector<Call>> list(const CallQuery& query) = 0;
};

}  // namespace perdure
