// A session whose lease this process has: the one place where it is committed to, and where what was
// committed becomes state; and what a commit will hold, while it is put together.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/api/own_process.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "runtime/api/commit.hpp"
#include "runtime/api/records.hpp"
#include "runtime/api/state_details.hpp"
#include "runtime/api/worker.hpp"

namespace perdure {

/// A request about to be made, and the most it may cost.
struct NewRequest {
  Request request{};
  std::int64_t reserve_micros = 0;
};

// Positions are known before the commit: no other process writes while we hold the lease, so the
// entries get the numbers that follow. A call can thus refer to its own intent.
class Draft {
 public:
  /// `next` is the position that the session's next entry gets.
  explicit Draft(Position next) : next_(next) {}

  /// The position that the next entry added will have.
  [[nodiscard]] Position next() const { return next_ + batch.entries.size(); }

  /// Adds an entry and returns the position it will have.
  Position add(NewEntry entry) {
    const Position position = next();
    batch.entries.push_back(std::move(entry));
    return position;
  }

  /// Nothing is to be written.
  [[nodiscard]] bool is_empty() const {
    return batch.entries.empty() && batch.calls.empty() && batch.consumed.empty() &&
           batch.children.empty() && !batch.status && !batch.checkpoint && !batch.annotation &&
           !batch.branch_from && !next_request;
  }

  /// How it leaves the session, by whom and why.
  void stand(StatusChange change, Reason because = {}) {
    batch.status = std::move(change);
    reason = std::move(because);
  }

  /// All but id, expected head and entries may be set from outside.
  Batch batch{};
  /// Of its change of status: the commit makes an entry of it.
  Reason reason{};
  /// The request that follows, written ahead of it: the commit makes entries of it, if the budget has
  /// room for it after the draft's own changes.
  std::optional<NewRequest> next_request{};

 private:
  Position next_;
};

/// An entry of JSON text that adds to a list, or replaces a value.
[[nodiscard]] inline NewEntry appending(std::string channel, std::string kind, std::string json) {
  return {.channel = std::move(channel),
          .kind = std::move(kind),
          .body = Body::from_text(std::move(json))};
}
[[nodiscard]] inline NewEntry replacing(std::string channel, std::string kind, std::string json) {
  NewEntry entry = appending(std::move(channel), std::move(kind), std::move(json));
  entry.fold = Fold::replace;
  return entry;
}

/// Their kinds are what they say.
[[nodiscard]] inline NewEntry entry_of(const Approval& approval) {
  return appending("approvals", std::string(to_string(approval.decision)), to_json(approval));
}
[[nodiscard]] inline NewEntry entry_of(const BudgetEntry& change) {
  return appending("budget", std::string(to_string(change.change)), to_json(change));
}

/// The text as a row takes it: no control characters but those of lines, valid UTF-8, and no more
/// bytes than that. A log has what a tool, a model or a person said as it was; a row has room for
/// less, and a store refuses a commit whose rows are too long or unprintable. A response that was paid
/// for must not be lost for that.
[[nodiscard]] std::string row_text(std::string_view text, std::size_t bytes_max);

/// The same as a name: one line, no space at either end, never empty.
[[nodiscard]] std::string row_name(std::string_view name);

/// Makes all text of a batch that goes into rows fit them.
void fit_rows(Batch& batch);

/// Adds a change of the budget. `budget`: as it is when the draft gets there; the change is applied.
/// Fails: as enter, and then changes nothing.
[[nodiscard]] Result<void> add_budget_change(Draft& draft, Budget& budget, BudgetEntry wanted);

/// What is left of the budget once the draft is committed.
[[nodiscard]] Budget budget_after(const Budget& now, const Draft& draft);

/// What an open reservation holds; 0 for any other.
[[nodiscard]] std::int64_t reserved_by(const Budget& budget, const std::string& reservation);

/// Adds the request and what it reserves. `budget`: as it is when the draft gets there.
/// Fails: as enter.
[[nodiscard]] Result<void> add_request(Draft& draft, IdSource& ids, Budget& budget,
                                       NewRequest request);

struct RequestEnd {
  std::string why{};
  /// It was sent, or that is unknown: what it reserved counts as spent.
  bool may_be_paid = false;
};

/// Adds the end of the request. `budget`: as it is when the draft gets there.
/// Fails: as enter.
[[nodiscard]] Result<void> add_end_of_request(Draft& draft, const Request& request, Budget& budget,
                                              const RequestEnd& end);

/// The head as it is now: what is committed or rewound later does not move it.
[[nodiscard]] inline Point at_position(Position head) {
  return head == 0 ? Point::head() : Point::position(head);
}

/// Bodies beyond this are blobs, so that reading a log does not mean holding them twice.
inline constexpr std::size_t inline_bytes_max = std::size_t{1} << 20U;

/// What a session needs of its runtime.
struct SessionDeps {
  Store& store;
  Worker& worker;
  const Clock& clock;
  IdSource& ids;
  const Tools& tools;
  const Policy& policy;
};

class SessionWriter {
 public:
  /// `before`: who held it until now.
  SessionWriter(SessionDeps deps, Worker::Grip grip, std::optional<Holder> before = {})
      : deps_(deps),
        place_(std::move(grip.place)),
        lease_(std::move(grip.lease)),
        before_(std::move(before)),
        taken_at_(deps.clock.now()),
        named_at_(taken_at_) {}
  /// Gives the lease up.
  ~SessionWriter();
  SessionWriter(const SessionWriter&) = delete;
  SessionWriter& operator=(const SessionWriter&) = delete;

  /// Nothing is committed after it. To release twice is not an error.
  /// Fails: as Ownership::release.
  Result<void> release();

  /// Folds the log up to its head. To be called once, before anything else.
  [[nodiscard]] Result<void> load();

  [[nodiscard]] Draft draft() const { return Draft(next_); }

  /// Whether a commit whose answer was lost was made; it is made now, if it was not. To be called
  /// before the state is looked at for what is written next. In a session that was restored or
  /// imported, the first one voids what people decided before.
  /// Fails: `closed` in a child of the process; as Store::commit; what can still not be known stays
  /// so.
  [[nodiscard]] Result<void> settle_unknown_commit();

  /// In place of load(), for a session that is not there yet: creates it with the draft as its first
  /// commit. `inherited`: as of the point that it is forked at.
  /// Fails: as Store::create. Where that is known not to have happened, no lease is given up.
  Result<void> begin(const NewSession& session, Draft draft, State inherited = {});

  /// Commits the draft, unless it is empty, and folds it. A commit whose answer is lost is repeated; if
  /// that does not help, nothing else is committed before it is found out.
  /// Fails: as Store::commit.
  Result<void> commit(Draft draft);

  /// One commit, of what `add` puts into a draft; returns what `add` returned, a Result. Nothing is
  /// written where it fails.
  /// Fails: as settle_unknown_commit; as `add`; as Store::commit.
  template <class Add>
  std::invoke_result_t<Add, Draft&> write(Add add) {
    if (auto known = settle_unknown_commit(); !known) return forward(known);
    Draft made = draft();
    auto added = add(made);
    if (!added) return added;
    if (auto done = commit(std::move(made)); !done) return forward(done);
    return added;
  }

  [[nodiscard]] const SessionDeps& deps() const { return deps_; }
  [[nodiscard]] const Lease& lease() const { return lease_; }
  [[nodiscard]] const std::optional<Holder>& before() const { return before_; }
  [[nodiscard]] Timestamp taken_at() const { return taken_at_; }
  [[nodiscard]] const State& state() const { return state_; }
  [[nodiscard]] Position head() const { return head_; }
  /// Different each time that the session is taken up: what makes a position in it unique, also if
  /// its id is used again.
  [[nodiscard]] const std::string& nonce();
  /// Whether the entry there was committed by this object, since it was first loaded.
  [[nodiscard]] bool has_written(Position position) const { return position >= first_; }
  /// The store's (upkeep.hpp), as it was when it was last asked: once, and again after a commit that
  /// failed. Empty if it cannot be asked.
  [[nodiscard]] const std::string& loss_token();
  /// Whether something may be started under the lease. If the worker was late since the session was
  /// last known to be ours, the store is asked: a renewal does not take back what others took.
  /// Fails: `lease_lost`; as Sessions::read.
  [[nodiscard]] Result<void> check_may_act();
  /// Asked to stop when the worker is late.
  [[nodiscard]] const std::stop_token& stop_token() const { return stop_; }
  [[nodiscard]] Status status() const { return status_; }
  /// The one that this object named last.
  [[nodiscard]] Version version() const { return version_; }
  /// Whether the cadence names the head at the end of the turn that ends now.
  [[nodiscard]] bool is_checkpoint_due() const;
  [[nodiscard]] bool has_ended() const;
  /// What `state` says of this session's status: none of what a fork shares with its parent.
  [[nodiscard]] Status status_in(const State& state) const {
    return status_in_log(state.details->status, inherited_);
  }
  /// Nothing may be started in it.
  /// Fails: `conflict` for a session that has ended or is paused.
  [[nodiscard]] Result<void> check_goes_on() const;

 private:
  [[nodiscard]] Result<void> take_up_restored();
  [[nodiscard]] Result<Receipt> send(const Batch& batch);
  [[nodiscard]] Result<Receipt> commit_in_order(const Batch& batch);
  [[nodiscard]] Result<void> repeat_unsynced();
  [[nodiscard]] Result<Receipt> send_surely(const Batch& batch);
  [[nodiscard]] Result<Receipt> commit_with_blobs(const Batch& batch);
  [[nodiscard]] Result<SessionSummary> read_as_owner();
  [[nodiscard]] Result<void> find_last_name(Timestamp created_at);
  [[nodiscard]] Result<void> take_in(Batch batch, const Receipt& receipt);

  const OwnProcess process_;
  SessionDeps deps_;
  std::optional<Worker::Place> place_;  ///< Until the lease is released.
  Lease lease_;
  std::optional<Holder> before_;
  Timestamp taken_at_;
  Version version_{};
  /// When a version was last named, in this line or another, by any owner; else its beginning.
  Timestamp named_at_;
  std::int64_t named_turns_ = 0;  ///< How many there were then.
  State state_;
  std::string nonce_;  ///< Empty: not asked for yet.
  Position head_ = 0;
  Position next_ = 1;
  Position first_ = 0;      ///< That this object may have written; 0: nothing is loaded yet.
  Position inherited_ = 0;  ///< Up to there the line is that of the session it was forked from.
  Status status_ = Status::active;
  std::string wait_reason_;
  std::optional<NewSession> unborn_;  ///< Created by the next commit.
  bool is_restored_ = false;          ///< From a bundle or a backup, and not taken up since.
  bool is_lost_ = false;
  bool is_released_ = false;
  std::stop_token stop_;  ///< The worker's, from before the session was last known to be ours.
  std::string loss_token_;
  std::optional<Batch> unknown_;  ///< Committed or not: not known yet.
  /// Committed since the last one that was synced: a server that dies may take them along.
  std::vector<Batch> unsynced_;
};

/// Gives the message an id and a time if it has none.
void complete(Message& message, const SessionWriter& writer);
/// Adds the message, so completed.
Position add_message(Draft& draft, const SessionWriter& writer, Message message);

}  // namespace perdure
