// Checkpoints of a whole state, one after the other: the shape that agent loops know.
//
// A thread is a line of checkpoints under a name its caller chose; a checkpoint holds
// one state, which is any JSON object, and never changes. Their order is the order of
// the puts, never that of the wall clock: a clock that steps back moves nothing.
//
// Steps are results of work under a thread, each by a key of the caller's: claimed
// before the work, filled after it, so that neither a second worker nor a second run
// does it again.
//
// This is a seam: saver_conformance.hpp tests any class that implements it. Ours are in
// store_saver.hpp.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/guarded.hpp"
#include "perdure/core/raw_json.hpp"
#include "perdure/core/time.hpp"

namespace perdure {

/// Thread safety: every method may be called from any thread at any time.
class CheckpointSaver {
 public:
  /// The state of a checkpoint: in hand, or fetched when it is asked for, so that a list
  /// costs the same however large the states are. Copies share what never changes.
  class State {
   public:
    using Fetch = std::function<Result<RawJson>()>;

    State() : State(RawJson{}) {}
    State(RawJson json) : State(std::make_shared<const RawJson>(std::move(json))) {}
    /// Shared because nobody knows who is the last to want it.
    State(std::shared_ptr<const RawJson> json) : json_(std::move(json)) {}
    explicit State(Fetch fetch) : fetch_(std::move(fetch)) {}

    /// Fails, if it has to be fetched: `not_found` if the checkpoint is gone meanwhile;
    /// `corrupted`; `unavailable`, also if `fetch` throws.
    [[nodiscard]] Result<RawJson> read() const {
      if (json_) return *json_;
      return guarded("the state's `fetch`", fetch_);
    }
    /// Whether read() needs no storage and cannot fail.
    [[nodiscard]] bool is_in_hand() const { return json_ != nullptr; }

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

  /// Says: the step is yours to do. Fill it or release it.
  struct StepClaim {
    std::string thread_id{};
    std::string step_key{};
    std::string token{};  ///< Tells this claim from any other one of the step.

    bool operator==(const StepClaim&) const = default;
  };

  /// A step that was done.
  struct Step {
    std::string thread_id{};
    std::string step_key{};
    std::string fingerprint{};
    Timestamp created_at{};
    RawJson result{};

    bool operator==(const Step&) const = default;
  };

  /// Who is doing a step now.
  struct StepHolder {
    std::string worker{};
    std::string host{};
    std::int64_t pid = 0;
    Timestamp since{};

    bool operator==(const StepHolder&) const = default;
  };

  using ClaimAnswer = std::variant<StepClaim, Step, StepHolder>;

  virtual ~CheckpointSaver() = default;

  /// The checkpoint of that id, or the latest one. A thread or a checkpoint that is not
  /// there is not an error. Never waits for writers.
  /// Fails: `invalid_argument` for a bad thread id; `corrupted`.
  [[nodiscard]] virtual Result<std::optional<Checkpoint>> get(
      const std::string& thread_id, const std::optional<std::string>& checkpoint_id = {}) = 0;

  /// Keeps a state. With a parent, the put goes on from that checkpoint, which need not
  /// be the latest one; the new one becomes the latest all the same.
  /// Fails: `invalid_argument` for a bad thread id, or a state or metadata that is no JSON
  /// object; `not_found` for a parent the thread does not have; `lease_held` if another
  /// process did not let go in time; `commit_unknown` if it may or may not be there: get
  /// the latest one and compare.
  [[nodiscard]] virtual Result<Checkpoint> put(const std::string& thread_id, RawJson state,
                                               const std::optional<std::string>& parent_id = {},
                                               const RawJson& metadata = no_metadata()) = 0;

  /// Checkpoints of the thread, newest first, at most `limit`; with `before`, only those
  /// put earlier than that one. No limit above zero, and an unknown thread or `before`,
  /// give an empty list. States may be fetched when they are read. Never waits for writers.
  /// Fails: `invalid_argument` for a bad thread id.
  [[nodiscard]] virtual Result<std::vector<Checkpoint>> list(
      const std::string& thread_id, const std::optional<std::string>& before = {},
      int limit = 10) = 0;

  /// Deletes the thread with its checkpoints and steps. One that is not there is not an error.
  /// Fails: `lease_held` as `put`.
  [[nodiscard]] virtual Result<void> remove(const std::string& thread_id) = 0;

  /// Asks to do a step. Answers with the claim, or the step if it was done before, or who
  /// is doing it now. A claim ends when it is filled or released, or when its process dies.
  /// `fingerprint` stands for what the step is asked to do: another one under the same key
  /// would get an answer to another question.
  /// Fails: `conflict` if the step was done, or is being done, with another fingerprint;
  /// `invalid_argument` for a bad thread id, an empty key or fingerprint.
  [[nodiscard]] virtual Result<ClaimAnswer> claim_step(const std::string& thread_id,
                                                       const std::string& step_key,
                                                       const std::string& fingerprint) = 0;

  /// Keeps the result, any JSON. Filling once more under the same claim is not an error
  /// and changes nothing.
  /// Fails: `lease_lost` if the claim has ended: the step is somebody else's.
  [[nodiscard]] virtual Result<void> fill_step(const StepClaim& claim, const RawJson& result) = 0;

  /// Gives the step up, undone. A claim that has ended already is not an error.
  [[nodiscard]] virtual Result<void> release_step(const StepClaim& claim) = 0;

  /// Steps that were done, in the order in which they were filled.
  [[nodiscard]] virtual Result<std::vector<Step>> list_steps(const std::string& thread_id) = 0;

  /// `{}`.
  [[nodiscard]] static RawJson no_metadata() { return RawJson::from_value(Json::Object{}); }
};

}  // namespace perdure
