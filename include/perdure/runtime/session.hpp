// A session that this process holds: its state, and the only way to change it; and what other
// processes may leave in its inbox.
//
// The object has the session's lease, and is the only one of this process. Every method that writes
// is one commit: all that it says is in the log when it returns, or nothing.
//
// Any write also fails as Store::commit does: `lease_lost` if another worker has taken over: drop
// the object; `commit_unknown` if it may have happened: every further write first finds out;
// `closed` in a child of fork(2), while the parent's object goes on.
//
// Threads: one at a time.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/conversation.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"

namespace perdure {

struct SessionParts;

/// A model is about to be asked.
struct RequestSpec {
  std::string model{};
  Digest digest{};                  ///< Of what is sent.
  std::int64_t reserve_micros = 0;  ///< The most it may cost; recorded as spent until it is known.
};

/// What a response cost.
struct Usage {
  std::int64_t tokens_in = 0;
  std::int64_t tokens_out = 0;
  std::int64_t cost_micros = 0;
  /// What it may have cost beyond that: it stays unconfirmed of what was reserved.
  std::int64_t unconfirmed_micros = 0;
};

/// What else belongs to the commit of a response.
struct ResponseExtras {
  std::optional<Plan> plan{};
  /// The request that follows once its calls are answered: written ahead where that costs no sync
  /// and the budget allows it. `record_request` then states what is really sent and reserved.
  std::optional<RequestSpec> next_request{};
  /// The turn is not over, although no call is asked for: the model is asked again.
  bool goes_on = false;
  /// How the session stands if this response ends the turn; a partial one ends it only with this.
  std::optional<StatusChange> rests{};
};

/// How a call that is in doubt ends, or goes on, by a person's decision.
struct Decision {
  enum class As : std::uint8_t { succeeded, failed, retry, abandoned };
  As as = As::abandoned;
  std::string result{};  ///< succeeded: what the model is told; failed: why.
  std::string who{};
  std::string why{};
};

[[nodiscard]] std::string_view to_string(Decision::As as);
[[nodiscard]] std::optional<Decision::As> decision_from(std::string_view text);

class Session {
 public:
  explicit Session(std::unique_ptr<SessionParts> parts);
  /// Gives the lease up; what was committed stays. Waits for attempts that still run.
  ~Session();
  Session(Session&& other) noexcept;
  Session& operator=(Session&& other) noexcept;

  [[nodiscard]] const SessionId& id() const;
  [[nodiscard]] const Lease& lease() const;
  /// As of the last commit of this object.
  [[nodiscard]] const State& state() const;
  [[nodiscard]] Status status() const;

  /// Gives the message an id and a time if it has none.
  Result<Position> append(Message message);
  /// To a list of the user's own.
  /// Fails: `invalid_argument` for a channel of the runtime.
  Result<Position> append(const std::string& channel, Body body);
  /// The value of a channel of the user's own; in the same commit, how the session stands.
  /// Fails: as append; as set_status; `invalid_argument` for a status that is an end.
  Result<Position> set(const std::string& channel, Body body,
                       const std::optional<StatusChange>& stands = {});
  Result<Position> set(const Setup& setup);
  Result<Position> set(const Plan& plan);
  /// Returns the new number. Fails: `invalid_argument` for a bad name, or beyond 64 bits.
  Result<std::int64_t> count(const std::string& counter, std::int64_t by = 1);

  /// A note beside the conversation: any bytes, as a blob if they are many.
  /// Fails: `invalid_argument` for a bad key, or beyond scratch_value_bytes_max.
  Result<void> set_scratch(const std::string& key, const std::string& text);
  /// A key that is not there is not an error. Fails: as set_scratch.
  Result<void> erase_scratch(const std::string& key);
  /// Fails: as Blobs::get.
  [[nodiscard]] Result<std::optional<std::string>> find_scratch(const std::string& key) const;
  /// The user's message, if there is one, and the request about to be made, with its reserved
  /// cost. Make the request when this has returned, not before.
  /// Fails: `conflict`, about "budget", beyond what is available; `conflict` while a request is
  /// open, or a call has no outcome that the model may be told; `conflict` in a session that is
  /// paused or has ended.
  Result<void> record_request(const RequestSpec& request = {}, std::optional<Message> input = {});

  /// The response, its cost, an intent for each call it asks for, and the start of the first ones.
  /// A response without calls ends the turn, and names the head as the cadence says. After one that
  /// was cut off (`is_partial`), or in a session that was paused or has ended meanwhile, nothing
  /// starts.
  /// Fails: `conflict` if no request is open; `invalid_argument` if it is to end the session.
  Result<Position> record_response(Message response, const Usage& usage = {},
                                   const ResponseExtras& extras = {});

  /// No response comes to the request that is open, or it will not be made. What it reserved stays
  /// recorded, unconfirmed, if it may have been paid for; else it is free again.
  /// Fails: `conflict` if no request is open.
  Result<void> abandon_request(const std::string& why, bool may_be_paid);

  /// Makes the calls that are open and records their outcomes; finds out about those that an
  /// earlier process left. Returns when all are answered, or when something outside is needed: then
  /// the session waits. Asked to stop, it starts no further call, asks those that run to stop
  /// (CallContext::stop), and records what came of them.
  /// Fails: `conflict` in a session that is paused or has ended; `unavailable` if the policy
  /// throws.
  Result<CallsReport> run_calls(const std::stop_token& stop = {});

  /// Fails: `not_found` if no such call is open; `conflict` if it is not in doubt, or its attempt
  /// still runs.
  Result<void> resolve(Position call, const Decision& decision);
  /// Calls that were recorded and not begun never will be: they are `cancelled`, and the model is
  /// told why; `input` follows them. Returns how many; if there are none, nothing is written. A
  /// call that has begun stays as it is.
  Result<std::size_t> cancel_calls(const std::string& why, std::optional<Message> input = {});
  /// Allows or refuses a call before it is made, whatever was said of it before.
  /// Fails: `not_found`; `conflict` if it was made already.
  Result<void> approve(Position call, bool allow, const std::string& who, const std::string& why);

  /// The most it may spend from now on, what was spent included; empty: no limit.
  /// Fails: `invalid_argument` below zero.
  Result<void> set_budget(std::optional<std::int64_t> micros, const std::string& who,
                          const std::string& why);

  /// Ends the session with a result. A child tells its parent what it spent; the rest of its grant
  /// returns. May be repeated: the parent hears of it once.
  /// Fails: `conflict` while a call is unresolved, or if the session has ended in another way;
  /// `invalid_argument` for a status that is no end; as Inbox::post, and then the session has ended
  /// all the same.
  Result<void> finish(const std::string& result, Status as = Status::completed);

  /// Moves what others left in the inbox into the log, and does what it says. Returns how many.
  Result<std::size_t> take_inbox();

  /// Names the head.
  Result<Version> checkpoint(const NewCheckpoint& note = {.reason = "asked"});

  /// The log says who changed it (empty: this worker), and why (empty: the reason of the change).
  /// What is `cancelled` begins no call any more; a call whose outcome is unknown may still be
  /// resolved.
  /// Fails: `conflict` out of `completed`, `failed` or `cancelled`: only `reopen` leads there; as
  /// finish, for `completed` and `failed`, while a call is unresolved.
  Result<void> set_status(const StatusChange& change, const std::string& who = {},
                          const std::string& why = {});
  /// Makes an ended session active again; the log says who did, and why.
  /// Fails: `conflict` if it has not ended.
  Result<void> reopen(const std::string& who, const std::string& why);
  Result<void> annotate(const Annotation& part);

  /// Fails: `not_found` for a point that does not exist or was pruned.
  [[nodiscard]] Result<State> state_at(Point point) const;
  [[nodiscard]] Result<std::vector<Checkpoint>> versions(const CheckpointQuery& query = {}) const;
  [[nodiscard]] Result<Difference> diff(Point from, Point to) const;

  /// Gives the lease up, once attempts that still run have ended, at most after `patience` (empty:
  /// as long as it takes); any further write gives `lease_lost`. It does not end the session.
  /// Fails: `unavailable` if some still run then, and names their calls: the session stays held,
  /// since another owner could make them once more. A program that must end nevertheless ends its
  /// process (std::_Exit). Else as Ownership::release; the lease then ends with this process.
  Result<void> close(std::optional<Duration> patience = {});

  /// Goes on from an old point, in this session: what came after it stays readable, on its own
  /// line. Effects are not undone, and what was paid stays paid.
  /// Fails: `not_found`; `conflict` while a call is unresolved.
  Result<void> rewind(Point point);

  /// For the rest of the runtime.
  [[nodiscard]] SessionParts& parts() { return *parts_; }

 private:
  // Owned alone. A shared_ptr only hides its deleter, which deletes nothing in a forked child.
  std::shared_ptr<SessionParts> parts_;
};

/// Leaves mail in a session's inbox, from any process, without its lease. The owner moves it to the
/// log (Session::take_inbox), where it takes effect once, or changes nothing if it comes too late.
/// Each method may be repeated under the same id: it counts once. Each fails as Inbox::post.
class Mail {
 public:
  /// `store` must outlive it.
  Mail(Store& store, SessionId session) : store_(store), session_(std::move(session)) {}

  Result<void> say(const MessageId& id, const Message& message);
  /// To allow a call that a person has denied changes nothing, unless it `overrules` the denial.
  Result<void> approve(const MessageId& id, Position call, bool allow, const std::string& who,
                       const std::string& why, bool overrules = false);
  Result<void> resolve(const MessageId& id, Position call, const Decision& decision);
  Result<void> pause(const MessageId& id, const std::string& who, const std::string& why);
  Result<void> cancel(const MessageId& id, const std::string& who, const std::string& why);

 private:
  Store& store_;
  SessionId session_;
};

}  // namespace perdure
