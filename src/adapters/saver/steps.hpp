// Steps of a thread: claimed, filled, looked up by key.
//
// They have a session of their own, so that they outlive a put that goes on from an older
// checkpoint, and do not take turns with puts. A step is a value channel named by
// the hash of its key: the store finds the last entry of one without reading the others.
// Entries: `claimed`, `filled`, `released`. What decides who has a step is that entry,
// written under the session's lease; whether its claimant lives, a resource it holds.

#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "perdure/adapters/saver.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "saver/lease_queue.hpp"

namespace perdure::saver {

/// The session that holds the steps of a thread.
[[nodiscard]] SessionId steps_session(const std::string& thread_id);
/// Whether an id has the shape of one.
[[nodiscard]] bool is_steps_session(const std::string& id);

/// The last entry of a step.
struct StepEntry {
  std::string kind{};
  Timestamp at{};
  std::string step_key{};
  std::string fingerprint{};
  std::string token{};     ///< Of the claim.
  std::string resource{};  ///< That its claimant holds while it lives.
  RawJson result{};
};

class Steps {
 public:
  struct Rules {
    Duration wait{};
    Clock* clock = nullptr;
    IdSource* ids = nullptr;
  };

  /// The store must outlive this.
  Steps(Store& store, const Rules& rules);

  [[nodiscard]] Result<CheckpointSaver::ClaimAnswer> claim(const StepEntry& wish,
                                                           const std::string& thread_id);
  [[nodiscard]] Result<void> fill(const CheckpointSaver::StepClaim& claim, const RawJson& result);
  [[nodiscard]] Result<void> release(const CheckpointSaver::StepClaim& claim);
  [[nodiscard]] Result<std::vector<CheckpointSaver::Step>> list(const std::string& thread_id);

 private:
  using Answer = Result<std::optional<CheckpointSaver::ClaimAnswer>>;

  Result<std::optional<StepEntry>> find(const SessionId& session, const std::string& step_key);
  /// What a claim gets to hear from the entry that is there; empty if it may have the step.
  Answer answer(const std::optional<StepEntry>& there, const StepEntry& wish,
                const std::string& thread_id);
  /// Fails: `corrupted` if a record that may be this step's is lost: it may have been done.
  Result<void> check_none_lost(const SessionSummary& session, const std::string& step_key);
  Result<std::optional<Holder>> find_living(const StepEntry& there);
  Result<std::string> own_resource();
  Result<void> write(const LeaseScope& turn, const StepEntry& entry, Sync sync);
  /// Replaces the claim's entry by one of that kind, if it is still the last one.
  Result<bool> end_claim(const CheckpointSaver::StepClaim& claim, const std::string& kind,
                         const RawJson& result);

  Store& store_;
  const Rules rules_;
  SaverWorker claimant_;  ///< Lives as long as the process may be working on a step.
  SaverWorker writer_;
  LeaseQueue queue_;
  std::mutex mutex_;
  /// Up to where no record was found to be lost, by session and when it was created.
  std::map<std::pair<SessionId, Timestamp>, Position> whole_;
};

}  // namespace perdure::saver
