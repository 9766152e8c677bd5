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
// CheckpointSaver is a seam: saver_checks() tests any class that implements it. StoreSaver and the
// classes below it are ours.

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
  /// The state of a checkpoint: in hand, or fetched when it is asked for, so that a list
  /// costs the same however large the states are. Copies share what never changes.
  class State {
   public:
    using Fetch = std::function<Result<RawJson>()>;

    State() : State(RawJson{}) {}
    State(RawJson json) : State(std::make_shared<const RawJson>(std::move(json))) {}
    /// Shared because its last user is not known.
    State(std::shared_ptr<const RawJson> json) : json_(std::move(json)) {}
    explicit State(Fetch fetch) : fetch_(std::move(fetch)) {}

    /// Fails, if it has to be fetched: `not_found` if the checkpoint is gone meanwhile;
    /// `corrupted`; `unavailable`, also if `fetch` throws.
    [[nodiscard]] Result<RawJson> read() const;
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

  /// Keeps a state. With a parent, the put continues from that checkpoint, which need not
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
  /// `fingerprint` identifies what the step is asked to do: another one under the same key
  /// would get an answer to another question.
  /// Fails: `conflict` if the step was done, or is being done, with another fingerprint;
  /// `invalid_argument` for a bad thread id, an empty key or fingerprint.
  [[nodiscard]] virtual Result<ClaimAnswer> claim_step(const std::string& thread_id,
                                                       const std::string& step_key,
                                                       const std::string& fingerprint) = 0;

  /// Keeps the result, any JSON. Filling once more under the same claim is not an error
  /// and changes nothing.
  /// Fails: `lease_lost` if the claim has ended: the step belongs to another caller.
  [[nodiscard]] virtual Result<void> fill_step(const StepClaim& claim, const RawJson& result) = 0;

  /// Gives the step up, undone. A claim that has ended already is not an error.
  [[nodiscard]] virtual Result<void> release_step(const StepClaim& claim) = 0;

  /// Steps that were done, in the order in which they were filled.
  [[nodiscard]] virtual Result<std::vector<Step>> list_steps(const std::string& thread_id) = 0;

  /// `{}`.
  [[nodiscard]] static RawJson no_metadata() { return RawJson::from_value(Json::Object{}); }
};

// Checkpoint savers over a store: in memory, in a SQLite file, or any Store that is given.
//
// A put is one commit. It writes what changed against the state it continues from, as ranges
// of the old text that stay and text that is new, and now and then the whole state: so a
// list that grows costs its new elements, and so does a window that slides over one. A
// state comes back byte for byte, white space and all. A put is one sync.
//
// A saver that put last to a thread compares with the state that it remembers. Any other saver
// reads the thread's last state first, which takes about as long as writing it whole. If that
// state is damaged, the put writes a whole state.
//
// A thread is a session of the store, and its checkpoints are the session's: prune, fork,
// check and backup work on them as on any other. Its steps are a second session,
// `steps:` and the hash of the thread's id.

struct SaverOptions {
  Durability durability = Durability::full;
  /// How long a write waits for another process that writes to the same thread.
  Duration wait{10'000};
  /// States kept in memory to compare the next put with. Without one, the put reads it.
  std::size_t recent_bytes = std::size_t{64} << 20U;
  /// Both must outlive the saver, and the states it listed. Null: the machine's.
  Clock* clock = &system_clock();
  IdSource* ids = &random_ids();
};

/// Besides what CheckpointSaver says:
/// - Metadata is limited by the store: 16,000 bytes of JSON. A state has at most
///   `body_bytes_max` bytes.
/// - A thread id is a session id (id.hpp). A put refuses the id of a session that is no
///   thread: `conflict`.
/// - Listed states are fetched when they are read.
/// - Steps: the claim of a stopped process stays its own, which may still continue; it ends with
///   the process, at once, and otherwise not before 16 hours after the saver's last claim.
class StoreSaver : public CheckpointSaver {
 public:
  /// Shared with the states that list() gives out.
  explicit StoreSaver(std::shared_ptr<Store> store, const SaverOptions& options = {});
  ~StoreSaver() override;
  StoreSaver(const StoreSaver&) = delete;
  StoreSaver& operator=(const StoreSaver&) = delete;

  [[nodiscard]] Result<std::optional<Checkpoint>> get(
      const std::string& thread_id, const std::optional<std::string>& checkpoint_id = {}) final;
  [[nodiscard]] Result<Checkpoint> put(const std::string& thread_id, RawJson state,
                                       const std::optional<std::string>& parent_id = {},
                                       const RawJson& metadata = no_metadata()) final;
  [[nodiscard]] Result<std::vector<Checkpoint>> list(const std::string& thread_id,
                                                     const std::optional<std::string>& before = {},
                                                     int limit = 10) final;
  [[nodiscard]] Result<void> remove(const std::string& thread_id) final;
  [[nodiscard]] Result<ClaimAnswer> claim_step(const std::string& thread_id,
                                               const std::string& step_key,
                                               const std::string& fingerprint) final;
  [[nodiscard]] Result<void> fill_step(const StepClaim& claim, const RawJson& result) final;
  [[nodiscard]] Result<void> release_step(const StepClaim& claim) final;
  [[nodiscard]] Result<std::vector<Step>> list_steps(const std::string& thread_id) final;

 private:
  struct Parts;
  // Owned alone. A shared_ptr only hides its deleter, which deletes nothing in a forked child.
  std::shared_ptr<Parts> parts_;
};

/// Lost with the object.
class InMemorySaver final : public StoreSaver {
 public:
  explicit InMemorySaver(const SaverOptions& options = {});
};

class SqliteSaver final : public StoreSaver {
 public:
  using StoreSaver::StoreSaver;

  /// The path of a file, made if it is not there; `:memory:` is an InMemorySaver.
  /// Fails: as open_store.
  [[nodiscard]] static Result<std::unique_ptr<SqliteSaver>> open(const std::string& path,
                                                                 const SaverOptions& options = {});
};

/// What a loop uses that was given a thread id and perhaps a saver: the given one; or none,
/// if there is no thread id either; or else an InMemorySaver, and `notice` gets one
/// line: nothing will outlive the process. What `notice` throws is ignored.
[[nodiscard]] std::shared_ptr<CheckpointSaver> saver_or_default(
    std::shared_ptr<CheckpointSaver> given, std::string_view thread_id,
    const std::function<void(std::string_view)>& notice);

// Tests of any CheckpointSaver: what this header says, made executable. No test framework is needed:
//
//   for (const SaverCheck& check : saver_checks()) {
//     const auto problem = check.run([] { return std::make_unique<MySaver>(); });
//     if (problem) std::cerr << check.name << ": " << *problem << '\n';
//   }

/// Makes an empty saver. Each check asks once.
using MakeSaver = std::function<std::unique_ptr<CheckpointSaver>()>;

struct SaverCheck {
  std::string_view name;  ///< What must hold, as one word: "ListIsNewestFirst".
  /// What does not hold, for a person; nothing if all is well. A saver that throws is a problem.
  std::function<std::optional<std::string>(const MakeSaver&)> run;
};

/// All of them. States are compared as JSON values: the order of members and the spelling
/// of a number do not count.
[[nodiscard]] std::vector<SaverCheck> saver_checks();

}  // namespace perdure
