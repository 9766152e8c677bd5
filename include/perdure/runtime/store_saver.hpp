// Checkpoint savers over a store: in memory, or in a SQLite file.
//
// A put is one commit. It writes what changed against the state it goes on from, as ranges
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

#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id_source.hpp"
#include "perdure/core/own_process.hpp"
#include "perdure/core/raw_json.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/saver.hpp"
#include "perdure/store/store.hpp"

namespace perdure {

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
/// - Steps: the claim of a stopped process stays its own, which may still go on; it ends with
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
  OwnProcessPtr<Parts> parts_;
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
/// if there is no thread id either; or else an InMemorySaver, and `notice` is told in one
/// line that nothing will outlive the process. What `notice` throws is ignored.
[[nodiscard]] std::shared_ptr<CheckpointSaver> saver_or_default(
    std::shared_ptr<CheckpointSaver> given, std::string_view thread_id,
    const std::function<void(std::string_view)>& notice);

}  // namespace perdure
