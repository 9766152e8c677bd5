// The call states as a table of arrows. What an arrow changes of the call is
// said once here, so that no backend can forget a column.

#include "rules/calls.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <utility>

#include "core/api/sha256.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/sessions.hpp"

namespace perdure::rules {

namespace {

struct Arrow {
  CallState from;
  CallState to;
};

constexpr std::array arrows = {
    Arrow{CallState::intended, CallState::dispatched},
    Arrow{CallState::intended, CallState::denied},
    Arrow{CallState::intended, CallState::cancelled},
    Arrow{CallState::dispatched, CallState::succeeded},
    Arrow{CallState::dispatched, CallState::failed},
    Arrow{CallState::dispatched, CallState::in_doubt},
    Arrow{CallState::failed, CallState::dispatched},
    Arrow{CallState::in_doubt, CallState::succeeded},
    Arrow{CallState::in_doubt, CallState::failed},
    Arrow{CallState::in_doubt, CallState::abandoned},
    Arrow{CallState::in_doubt, CallState::dispatched},
};

Result<void> check_arrow(const Call& call, CallState to) {
  const bool is_known = std::ranges::any_of(
      arrows, [&](const Arrow& arrow) { return arrow.from == call.state && arrow.to == to; });
  if (is_known) return {};
  const std::string name = call_name(call.session, call.position);
  return fail(
      ErrorCode::conflict,
      fmt::format("call {} is {} and cannot become {}", name, to_string(call.state), to_string(to)),
      name);
}

}  // namespace

bool holds_key(CallState state) {
  return state == CallState::dispatched || state == CallState::in_doubt ||
         state == CallState::succeeded || state == CallState::abandoned;
}

std::optional<Digest> held_key(const Call& call) {
  return holds_key(call.state) ? call.key : std::nullopt;
}

// Also one that failed: failures change the key by which a vendor knows the operation. A forged call
// may hold its key without an attempt.
void disown(Call& call) {
  const bool was_made = call.attempts > 0 || call.failures > 0 || holds_key(call.state);
  if (!call.key || !was_made) return;
  call.claimed = call.key;
  call.key.reset();
}

Digest claim_key(const Digest& claimed) {
  Sha256 hash;
  hash.update("a key that a bundle claims ");
  hash.update({reinterpret_cast<const char*>(claimed.data()), claimed.size()});
  return hash.finish();
}

Digest key_of_claim(const Call& call) { return call.key ? *call.key : claim_key(*call.claimed); }

Call intended(const SessionId& session, const Intend& intent, Timestamp at) {
  Call call;
  call.session = session;
  call.position = intent.call;
  call.args = intent.args;
  call.tool = intent.tool;
  call.provider_id = intent.provider_id;
  call.effect = intent.effect;
  call.key = intent.key;
  call.intended_at = at;
  return call;
}

Result<void> dispatch(Call& call, const Dispatch& change, Fence fence, Timestamp at) {
  auto checked = check_arrow(call, CallState::dispatched);
  if (!checked) return checked;
  call.state = CallState::dispatched;
  ++call.attempts;
  if (call.claimed) call.key = std::exchange(call.claimed, std::nullopt);
  call.fence = fence;
  call.dispatched_at = at;
  call.deadline = change.deadline;
  // What became of the attempt before is history, told by the log; of this one nothing is known.
  call.settled_at.reset();
  call.result.reset();
  call.who.clear();
  call.why.clear();
  return {};
}

Result<void> settle(Call& call, const Settle& change, Timestamp at) {
  auto checked = check_arrow(call, change.state);
  if (!checked) return checked;
  call.state = change.state;
  if (change.state == CallState::failed) ++call.failures;
  call.settled_at = at;
  call.result = change.result;
  call.who = change.who;
  call.why = change.why;
  return {};
}

}  // namespace perdure::rules
