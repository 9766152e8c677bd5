// A session whose lease this process has: the one place where it is committed to, and
// where what was committed becomes state.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/api/own_process.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/conversation.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "runtime/api/worker.hpp"
#include "writer/draft.hpp"

namespace perdure {

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
  /// The right to it: the lease, and this process's one place for it.
  struct Grip {
    Worker::Place place;
    Lease lease;
  };

  /// `before`: who held it until now.
  SessionWriter(SessionDeps deps, Grip grip, std::optional<Holder> before = {})
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
  Result<Receipt> begin(const NewSession& session, Draft draft, State inherited = {});

  /// Commits the draft, and folds it. A commit whose answer is lost is repeated; if that does
  /// not help, nothing else is committed before it is found out.
  /// Fails: as Store::commit.
  Result<Receipt> commit(Draft draft);

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
  /// When a version was last named, in this line or another, by whomever; else its beginning.
  [[nodiscard]] Timestamp named_at() const { return named_at_; }
  [[nodiscard]] std::int64_t turns_since_named() const;
  [[nodiscard]] bool has_ended() const;
  /// What `state` says of this session's status: none of what a fork shares with its parent.
  [[nodiscard]] Status status_in(const State& state) const {
    return status_in_log(state.status, inherited_);
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
  bool is_restored_ = false;  ///< From a bundle or a backup, and nobody has taken it up since.
  bool is_lost_ = false;
  bool is_released_ = false;
  std::stop_token stop_;  ///< The worker's, from before the session was last known to be ours.
  std::string loss_token_;
  std::optional<Batch> unknown_;  ///< Committed or not: nobody knows yet.
  /// Committed since the last one that was synced: a server that dies may take them along.
  std::vector<Batch> unsynced_;
};

/// Gives the message an id and a time if it has none.
void complete(Message& message, const SessionWriter& writer);

}  // namespace perdure
