// A session that a checkpointer holds: its lease, and the texts of its log.
//
// Not the runtime's State: there a message is taken apart, and one of a shape it does not know is
// passed over. Here it is any JSON, and comes back byte for byte.

#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "perdure/adapters/checkpointer.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "runtime/api/operation.hpp"
#include "runtime/api/state_details.hpp"
#include "runtime/api/worker.hpp"

namespace perdure::checkpointing {

struct LogTexts {
  std::vector<std::string> messages{};
  std::optional<std::string> plan{};
  Budget budget{};
  std::optional<Origin> origin{};      ///< Empty: none was written, or it cannot be read.
  bool has_lost_origin = false;        ///< One that cannot be read was.
  std::optional<StatusNote> status{};  ///< The last change of it.
  std::vector<Position> missing{};
};

/// Takes the next entry of the line in: the same when it was just written, and at a resume.
void take_in(LogTexts& texts, const Entry& entry);

/// Fails: as Log::read.
[[nodiscard]] Result<LogTexts> read_texts(Store& store, const SessionId& session, Point as_of);

/// Fails: `invalid_argument` if a message is so deep that no list can hold it.
[[nodiscard]] Result<Checkpointer::Content> content_of(const LogTexts& texts);

/// What must be written to get from `texts` to `content`.
/// Fails: `invalid_argument`, as save_checkpoint does.
[[nodiscard]] Result<std::vector<NewEntry>> changes_to(const LogTexts& texts,
                                                       const Checkpointer::Content& content);

/// One entry for each element. Fails: `invalid_argument` if it is not a list.
[[nodiscard]] Result<std::vector<NewEntry>> messages_of(const RawJson& list);

/// Threads: one at a time.
class HeldLog {
 public:
  /// Takes the session. The outcome of calls that an earlier owner started is unknown: they are in
  /// doubt from now on. `store` and `ids` must outlive this.
  /// Fails: as Ownership::acquire; `lease_held` says who has it, where and since when.
  [[nodiscard]] static Result<std::unique_ptr<HeldLog>> take_up(Store& store, IdSource& ids,
                                                                const SessionId& session,
                                                                Worker& worker);
  /// Creates the session with what it begins with.
  /// Fails: as Store::create; `lease_held` as take_up.
  [[nodiscard]] static Result<std::unique_ptr<HeldLog>> begin(Store& store, IdSource& ids,
                                                              const SessionId& session,
                                                              Worker& worker,
                                                              std::vector<NewEntry> opening);
  /// Gives it up.
  ~HeldLog();
  HeldLog(const HeldLog&) = delete;
  HeldLog& operator=(const HeldLog&) = delete;

  /// Settles a commit whose outcome is unknown. To be called before anything relies on the texts.
  [[nodiscard]] Result<void> settle();

  /// All of the batch but its id and head; `why` it changes the status, if it does.
  /// Fails: as Store::commit.
  [[nodiscard]] Result<Receipt> commit(Batch batch, const std::string& why = {});

  [[nodiscard]] const SessionId& session() const { return lease_.session; }
  /// Whether that is this one.
  [[nodiscard]] bool is_held_by(const Holder& holder) const {
    return holder.worker == lease_.worker && holder.fence == lease_.fence;
  }
  [[nodiscard]] const LogTexts& texts() const { return texts_; }
  [[nodiscard]] Status status() const { return status_; }
  /// The position the next entry gets.
  [[nodiscard]] Position next() const { return next_; }
  /// Where a call at that position is: no other call, in whatever store, is there.
  [[nodiscard]] dispatch::Place place_of(Position call) const;

  /// Calls issued by a commit whose outcome was unknown: no caller has been asked to run them.
  /// Filled by the code that issues calls.
  std::set<Position> untold{};

 private:
  HeldLog(Store& store, IdSource& ids, Worker::Grip grip)
      : store_(store),
        ids_(ids),
        place_(std::move(grip.place)),
        lease_(std::move(grip.lease)),
        nonce_(to_base32(ids.next())) {}

  [[nodiscard]] Result<void> load();
  [[nodiscard]] Result<void> open_books();
  void take_in_batch(const Batch& batch, const Receipt& receipt);

  Store& store_;
  IdSource& ids_;
  const Worker::Place place_;  ///< Given back after the lease.
  const Lease lease_;
  const std::string nonce_;  ///< Of this holding.
  LogTexts texts_;
  Status status_ = Status::active;
  std::string wait_reason_;
  bool is_restored_ = false;
  Position inherited_ = 0;  ///< Up to there the line is that of the session it was forked from.
  Position head_ = 0;
  Position next_ = 1;
  std::optional<Batch> unknown_;
};

}  // namespace perdure::checkpointing
