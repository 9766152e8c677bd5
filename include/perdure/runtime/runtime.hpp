// A runtime begins, resumes and forks sessions; a Session is one that this process holds; Mail is
// how other processes reach its inbox.
//
// A runtime is this process as a worker of one store: it renews its lease in the background, and
// every session it hands out lives under it. When the process dies, another one on the same machine
// takes over at once.
//
// A Session has the session's lease, and is the only object of it in this process. Every method
// that writes is one commit: all that it says is in the log when it returns, or nothing. Any write
// also fails as Store::commit does: `lease_lost` if another worker has taken over: drop the object;
// `commit_unknown` if it may have happened: every further write first finds out; `closed` in a
// child of fork(2), while the parent's object continues.
//
// Threads: a Session is used by one at a time; every method of a Runtime may be called from any
// thread at any time.

#pragma once

#include <cstdint>
#include <functional>
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
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"

namespace perdure {
struct ForkPlan;
struct RecoveryPlan;
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
  /// The session's status if this response ends the turn; a partial one ends it only with this.
  std::optional<StatusChange> rests{};
};

/// A person's decision about a call in doubt: how it ended, or that it is retried.
struct Decision {
  enum class As : std::uint8_t { succeeded, failed, retry, abandoned };
  As as = As::abandoned;
  std::string result{};  ///< succeeded: what the model is told; failed: why.
  std::string who{};
  std::string why{};
};

[[nodiscard]] std::string_view to_string(Decision::As as);
[[nodiscard]] std::optional<Decision::As> decision_from(std::string_view text);

/// A session that this process holds. It can be moved, and not copied.
class Session {
 public:
  explicit Session(std::unique_ptr<SessionParts> parts);
  /// Gives the lease up; what was committed stays. Waits for attempts that still run.
  ~Session() = default;
  Session(Session&& other) noexcept = default;
  Session& operator=(Session&& other) noexcept = default;

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
  /// The value of a channel of the user's own; in the same commit, the session's status.
  /// Fails: as append; as set_status; `invalid_argument` for a status that is an end.
  Result<Position> set(const std::string& channel, Body body,
                       const std::optional<StatusChange>& status = {});
  Result<Position> set(const Setup& setup);
  Result<Position> set(const Plan& plan);
  /// Returns the new number. Fails: `invalid_argument` for a bad name, or beyond 64 bits.
  Result<std::int64_t> count(const std::string& counter, std::int64_t by = 1);

  /// A note beside the conversation: any bytes, as a blob if they are many.
  /// Fails: `invalid_argument` for a bad key, or beyond 16 MiB.
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
  /// Allows or refuses a call before it is made; replaces earlier approvals and refusals.
  /// Fails: `not_found`; `conflict` if it was made already.
  Result<void> approve(Position call, bool allow, const std::string& who, const std::string& why);

  /// The most it may spend from now on, what was spent included; empty: no limit.
  /// Fails: `invalid_argument` below zero.
  Result<void> set_budget(std::optional<std::int64_t> micros, const std::string& who,
                          const std::string& why);

  /// Ends the session with a result. A child tells its parent what it spent; the rest of its grant
  /// returns. May be repeated: the parent hears of it once.
  /// Fails: `conflict` while a call is unresolved, or if the session has ended in another way;
  /// `invalid_argument` for a status that does not end it; as Inbox::post, and then the session has
  /// ended all the same.
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

  /// Continues from an old point, in this session: what came after it stays readable, on its own
  /// line. Effects are not undone, and what was paid stays paid.
  /// Fails: `not_found`; `conflict` while a call is unresolved.
  Result<void> rewind(Point point);

 private:
  friend SessionParts& session_parts(Session& session);

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

/// The state of any session as of a point. Needs no lease, and does not disturb its owner.
/// Fails: as Log::read.
[[nodiscard]] Result<State> read_state(Store& store, const SessionId& session, Point as_of);

/// A new fork, which shares its history up to a position.
struct Forked {
  SessionId id{};
  Position position = 0;                   ///< The last one that it shares.
  std::shared_ptr<const ForkPlan> plan{};  ///< For Perdure's own programs.
  /// Calls of the session after the point that took or may have taken effect: if the model asks for
  /// them again, they are made again.
  std::vector<Call> effects_after{};
};

/// How a process works on its sessions.
struct RuntimeOptions {
  std::string host{};    ///< As errors name the holder to others; empty: this machine's name.
  std::int64_t pid = 0;  ///< 0: this process.
  Duration lease_time{30'000};
  bool renews_itself = true;  ///< False: its maker calls `renew`.
  Tools tools{};
  Policy policy{};
  Clock* clock = &system_clock();  ///< Must outlive the runtime; null: the machine's.
  IdSource* ids = &random_ids();   ///< The same.
};

struct SessionSpec {
  std::optional<SessionId> id{};  ///< Empty: a fresh one.
  Annotation annotation{};
  std::optional<Setup> setup{};
  std::optional<std::int64_t> budget_micros{};  ///< The most it may spend; empty: no limit.
  std::string agent_digest{};                   ///< Of the agent's definition.
  std::optional<Message> input{};               ///< There from the session's first moment.
};

/// How a fork differs from the session that it continues.
struct ForkSpec {
  std::optional<SessionId> id{};
  Annotation annotation{};
  /// What was done once in the tree may be done again in the fork: a decision, and recorded.
  bool fresh_effects = false;
  /// In place of what the model was given before the point; all else of it is inherited.
  std::optional<std::string> system_prompt{};
  std::optional<std::string> model{};
};

/// What a process found when it took a session up, and what it did about it.
struct RecoveryReport {
  std::uint64_t entries = 0;     ///< Read, each once.
  std::uint64_t steps = 0;       ///< Model and tool calls that are not made again.
  bool lost_a_response = false;  ///< A request was open: it counts as spent until known.
  std::shared_ptr<const RecoveryPlan> plan{};  ///< For Perdure's own programs.
  CallsReport calls{};
  Duration took{0};
};

struct ResumeSpec {
  std::optional<Message> input{};
  Duration wait{0};  ///< For a living owner, at most.
  std::stop_token stop{};
  bool runs_calls = true;  ///< False: Session::run_calls makes them later.
  /// Called when the session is held, and before anything is done with it. An error gives it back.
  std::function<Result<void>(Session&)> prepare{};
};

/// A session that was taken up, and what was found.
struct Resumed {
  Session session;
  RecoveryReport report{};
};

/// This process as a worker of one store.
class Runtime {
 public:
  /// `store` must outlive it. Fails: as Ownership::enroll.
  [[nodiscard]] static Result<std::unique_ptr<Runtime>> start(Store& store,
                                                              const RuntimeOptions& options = {});
  /// Sessions that are still held must be gone by then.
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  /// All that the spec says is the first commit: a session that is there is whole.
  /// Fails: as Store::create.
  [[nodiscard]] Result<Session> create(const SessionSpec& spec = {});

  /// Takes the session up where its log ends. For a living owner, also another object of this
  /// process, it waits at most so long, or until it is asked to stop. Code that the session itself
  /// calls (a tool, a policy, an observer) would wait for itself: it is refused at once.
  /// Fails: `not_found`; `lease_held`, and says who holds it, where and since when.
  [[nodiscard]] Result<Session> open(const SessionId& id, Duration wait = Duration(0),
                                     const std::stop_token& stop = {});

  /// The session of that id, taken up as by `resume` without its calls, or else created as the spec
  /// says. Of threads and processes that call this at the same time one creates it; the others open
  /// it once it is free, within `wait`.
  /// Fails: as create, but never `already_exists`; as resume, but never `not_found`.
  [[nodiscard]] Result<Session> open_or_create(const SessionId& id, SessionSpec spec = {},
                                               Duration wait = Duration(0));

  /// Takes the session up and does what its last owner left undone: a request without a response is
  /// recorded as spent, unconfirmed; the inbox is taken in; calls are run again, verified, or put
  /// in doubt, as their tools allow. Then appends the input. A session that has ended is not
  /// reopened. Asked to stop, it waits for no owner, and calls stop as in Session::run_calls.
  /// Fails: as open; as `prepare`; as Session::take_inbox; as Session::run_calls; `conflict` for
  /// input to a session that has ended.
  [[nodiscard]] Result<Resumed> resume(const SessionId& id, const ResumeSpec& spec = {});

  /// A new session that shares everything up to the point, at no cost; needs no lease. Calls
  /// without an outcome at the point: what was not begun, or ended after it, is a call of the
  /// fork's own, run, approved and paid for like any other; what is under way or in doubt in its
  /// own session is never run here, and the model is told. A point between a response and its calls
  /// means both.
  /// Fails: `not_found`; `already_exists`; as Store::create.
  [[nodiscard]] Result<Forked> fork(const SessionId& from, Point at, const ForkSpec& spec = {});

  /// Fails: as Ownership::renew.
  Result<void> renew();

 private:
  struct Parts;
  explicit Runtime(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace perdure
