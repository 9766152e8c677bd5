// The key is looked up first, so that a replay writes nothing. That is not what makes it
// safe: the commit claims the key or fails, and whoever fails looks again.

#include "checkpointer/issue.hpp"

#include <fmt/format.h>
#include <optional>
#include <string>
#include <utility>

#include "checkpointer/calls.hpp"
#include "checkpointer/held_log.hpp"
#include "dispatch/key.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/runtime/checkpointer.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/store.hpp"

namespace perdure::checkpointing {
namespace {

using Issued = Checkpointer::Issued;
using MayRun = Checkpointer::MayRun;
using ToolCall = Checkpointer::ToolCall;

Result<MayRun> may_run(Store& store, const Call& issued) {
  auto key = key_at_vendor(store, issued);
  if (!key) return forward(key);
  return MayRun{.call = issued.position, .key = *std::move(key)};
}

Result<Issued> answer(Store& store, HeldLog& held, const Call& holder) {
  const bool is_untold =
      holder.session == held.session() && held.untold.erase(holder.position) == 1;
  if (is_untold) return may_run(store, holder);
  if (holder.state == CallState::succeeded) return completed(store, holder);
  auto told = pending(store, holder);
  if (!told) return forward(told);
  if (told->state != CallState::dispatched || told->is_running) return *std::move(told);
  // Whoever ran it may have said so, and gone, between the two looks.
  auto now = store.ledger().read(holder.session, holder.position);
  if (!now) return forward(now);
  if (now->state == CallState::succeeded) return completed(store, *now);
  return *std::move(told);
}

// What a bundle says was done is neither done again nor taken as done.
Result<void> check_unclaimed(Store& store, const Digest& key) {
  auto claims = store.ledger().find_claims(key);
  if (!claims) return forward(claims);
  if (claims->empty()) return {};
  const Call& claim = claims->front();
  const std::string name = call_name(claim.session, claim.position);
  return fail(
      ErrorCode::conflict,
      fmt::format("a bundle that nobody accepted says that this was done, as {}: delete that "
                  "session, or import the bundle again with its claims accepted",
                  name),
      name);
}

// Empty: nobody holds the key.
Result<std::optional<Issued>> look_up(Store& store, HeldLog& held, const ToolCall& call,
                                      const dispatch::Operation& operation) {
  auto holder = store.ledger().find_holder(operation.key);
  if (!holder) return forward(holder);
  if (!*holder) {
    if (auto free = check_unclaimed(store, operation.key); !free) return forward(free);
    return std::nullopt;
  }
  if (auto same = check_same_args(store, **holder, call, operation); !same) return forward(same);
  return answer(store, held, **holder);
}

}  // namespace

Result<Issued> issue(Store& store, HeldLog& held, const ToolCall& call) {
  const Position at = held.next();
  auto operation = operation_of(call, held.site(at));
  if (!operation) return forward(operation);
  auto known = look_up(store, held, call, *operation);
  if (!known) return forward(known);
  if (*known) return **std::move(known);

  auto failures = failures_of(store, operation->key);
  if (!failures) return forward(failures);
  auto receipt = held.commit(issue_of(call, at, operation->key, *failures));
  if (receipt) return MayRun{.call = at, .key = dispatch::vendor_key(operation->key, *failures)};
  if (receipt.error().code == ErrorCode::commit_unknown) held.untold.insert(at);
  if (receipt.error().code != ErrorCode::conflict) return forward(receipt);
  known = look_up(store, held, call, *operation);
  if (!known) return forward(known);
  if (!*known) return forward(receipt);
  return **std::move(known);
}

}  // namespace perdure::checkpointing
