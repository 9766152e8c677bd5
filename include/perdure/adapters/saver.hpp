// Checkpoints of a whole state: the shape that agent loops know. A thread is a list of checkpoints
// under a name, in the order of the puts; a checkpoint holds one state, any JSON object, and never
// changes. Steps are results of work under a thread, by a key: claimed before the work and filled
// after it, so that it is done once. saver_checks() tests any CheckpointSaver.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/store.hpp"

namespace perdure {

/// Thread safety: every method may be called from any thread at any time.
class CheckpointSaver {
 public:
  /// The state of a checkpoint: in hand, or fetched when it is asked for. Copies share it.
  class State {
   public:
    using Fetch = std::function<Result<RawJson>()>;

    State(RawJson json = {}) : json_(std::make_shared<const RawJson>(std::move(json))) {}
    State(std::shared_ptr<const RawJson> json) : json_(std::move(json)) {}
    explicit State(Fetch fetch) : fetch_(std::move(fetch)) {}

    /// Fails, if it has to be fetched: `not_found` if the checkpoint is gone; `corrupted`;
    /// `unavailable`, also if `fetch` throws.
    [[nodiscard]] Result<RawJson> read() const;

   private:
    std::shared_ptr<const RawJson> json_;
    Fetch fetch_;
  };

  struct Checkpoint {
    std::string id{};
    std::string thread_id{};
    Timestamp created_at{};
    State state{};
    std::optional<std::string> parent_id{};  ///< As it was given to put.
    RawJson metadata{};
  };

  /// The step is yours to do: fill it or release it.
  struct StepClaim {
    std::string thread_id{};
    std::string step_key{};
    std::string token{};  ///< Of this claim alone.
  };

  /// A step that was done.
  struct Step {
    std::string thread_id{};
    std::string step_key{};
    std::string fingerprint{};
    Timestamp created_at{};
    RawJson result{};
  };

  /// Who is doing a step now.
  struct StepHolder {
    std::string worker{};
    std::string host{};
    std::int64_t pid = 0;
    Timestamp since{};
  };

  using ClaimAnswer = std::variant<StepClaim, Step, StepHolder>;

  virtual ~CheckpointSaver() = default;

  /// The checkpoint of that id, or the latest one. None is not an error. Never waits for writers.
  /// Fails: `invalid_argument` for a bad thread id; `corrupted`.
  [[nodiscard]] virtual Result<std::optional<Checkpoint>> get(
      const std::string& thread_id, const std::optional<std::string>& checkpoint_id = {}) = 0;

  /// Keeps a state; it becomes the latest one. With a parent it continues from that checkpoint.
  /// Fails: `invalid_argument` for a bad thread id, or a state or metadata that is not a JSON
  /// object; `not_found` for the parent; `lease_held` if another process did not let go in time;
  /// `commit_unknown` if it may be there: get the latest one and compare.
  [[nodiscard]] virtual Result<Checkpoint> put(
      const std::string& thread_id, RawJson state, const std::optional<std::string>& parent_id = {},
      const RawJson& metadata = RawJson::from_value(Json::Object{})) = 0;

  /// Checkpoints of the thread, newest first, at most `limit`; with `before`, those put earlier. An
  /// unknown thread or `before` gives an empty list. Never waits for writers.
  /// Fails: `invalid_argument` for a bad thread id.
  [[nodiscard]] virtual Result<std::vector<Checkpoint>> list(
      const std::string& thread_id, const std::optional<std::string>& before = {},
      int limit = 10) = 0;

  /// Deletes the thread with its checkpoints and steps. One that is not there is not an error.
  /// Fails: `lease_held` as `put`.
  [[nodiscard]] virtual Result<void> remove(const std::string& thread_id) = 0;

  /// Returns the claim to a step, or the step if it was done, or who is doing it. A claim ends when
  /// it is filled or released, or when its process dies. `fingerprint` identifies the work.
  /// Fails: `conflict` if the step was done, or is being done, with another fingerprint;
  /// `invalid_argument` for a bad thread id, an empty key or fingerprint.
  [[nodiscard]] virtual Result<ClaimAnswer> claim_step(const std::string& thread_id,
                                                       const std::string& step_key,
                                                       const std::string& fingerprint) = 0;

  /// Keeps the result, any JSON. Filling again under the same claim changes nothing.
  /// Fails: `lease_lost` if the claim has ended: the step belongs to another caller.
  [[nodiscard]] virtual Result<void> fill_step(const StepClaim& claim, const RawJson& result) = 0;

  /// Gives the step up, undone. A claim that has ended is not an error.
  [[nodiscard]] virtual Result<void> release_step(const StepClaim& claim) = 0;

  /// Steps that were done, in the order in which they were filled.
  [[nodiscard]] virtual Result<std::vector<Step>> list_steps(const std::string& thread_id) = 0;
};

struct SaverOptions {
  Durability durability = Durability::full;
  /// For another process that writes to the same thread.
  Duration wait{10'000};
  /// Of states kept in memory to compare the next put with. Without one, the put reads it.
  std::size_t recent_bytes = std::size_t{64} << 20U;
  /// Both must outlive the saver, and the states it listed. Null: the machine's.
  Clock* clock = &system_clock();
  IdSource* ids = &random_ids();
};

/// A saver over a store, which it shares with the states that list() gives out. A thread is a
/// session, so prune, fork, check and backup work on it; its steps are a second session, `steps:`
/// and the hash of the thread's id. A put is one commit, of what changed against the state it
/// continues from. A state comes back byte for byte.
/// - Metadata has at most 16,000 bytes of JSON, a state 256 MiB.
/// - A thread id is a session id (id.hpp); a put to a session that is not a thread is a `conflict`.
/// - The claim of a process ends with it, or after 16 hours where that cannot be seen.
[[nodiscard]] std::unique_ptr<CheckpointSaver> make_saver(std::shared_ptr<Store> store,
                                                          const SaverOptions& options = {});

/// The same over the store in a file, made if it is not there; of `:memory:`, lost with the object.
/// Fails: as open_store.
[[nodiscard]] Result<std::unique_ptr<CheckpointSaver>> open_saver(const std::string& path,
                                                                  const SaverOptions& options = {});

/// Makes an empty saver. Each check asks once.
using MakeSaver = std::function<std::unique_ptr<CheckpointSaver>()>;

/// A test of any CheckpointSaver, without a test framework:
/// `check.run([] { return std::make_unique<MySaver>(); })`.
struct SaverCheck {
  std::string_view name;  ///< What must hold, as an identifier: "ListIsNewestFirst".
  /// What does not hold, for a person; nothing if all is well. A saver that throws is a problem.
  std::function<std::optional<std::string>(const MakeSaver&)> run;
};

/// All of them. States are compared as JSON values.
[[nodiscard]] std::vector<SaverCheck> saver_checks();

}  // namespace perdure
