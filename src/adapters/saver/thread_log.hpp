// A thread's checkpoints as its session holds them.
//
// One put is one entry on the channel `state`, and a checkpoint of the session, labelled
// with the checkpoint's id. The entry is a whole state (kind `whole`, replaces) or what
// changed against the entry before it on the line (kind `change`, appends): so the store
// itself finds where a fold begins, and prune knows what is no longer needed.

#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/store.hpp"

namespace perdure::saver {

/// What a change costs its reader besides its bytes. Whole states are written when the
/// changes since the last one cost more than it has bytes: so a load reads at most two states'
/// worth, and all that is ever written is at most twice the changes and this for each put.
inline constexpr std::size_t change_cost = 1024;

/// A checkpoint without its state.
struct Row {
  std::string id{};
  Version version = 0;
  Timestamp at{};
  std::optional<std::string> parent{};
  RawJson metadata{};
};

struct LoadedState {
  std::string text{};
  std::size_t cost = 0;  ///< Of the changes since the last whole state.
};

/// What a put hands to the store; version and time are the store's to give.
[[nodiscard]] NewCheckpoint to_checkpoint(const Row& row);

/// A thread that is not there has no rows.
class ThreadLog {
 public:
  /// The store must outlive this.
  ThreadLog(Store& store, SessionId session) : store_(store), session_(std::move(session)) {}

  [[nodiscard]] Result<std::optional<Row>> latest();
  [[nodiscard]] Result<std::optional<Row>> find(const std::string& id);
  /// Newest first.
  [[nodiscard]] Result<std::vector<Row>> rows(std::optional<Version> before, std::size_t limit);

  /// Fails: `not_found`; `corrupted`, also if something it needs was erased.
  [[nodiscard]] Result<LoadedState> load(Version version);

 private:
  Result<std::vector<Row>> query(const CheckpointQuery& query);

  Store& store_;
  SessionId session_;
};

// The states that were put last, so that the next put need not read what it compares with.
//
// A hint, never the truth: whoever uses one checks under the session's lease that nothing
// came after it.

/// A thread as the last put left it.
struct Known {
  std::string life{};  ///< Of the session: one made anew under the same id has another.
  Position head = 0;
  std::string checkpoint{};  ///< Its id.
  /// Shared with the checkpoint that was handed out.
  std::shared_ptr<const std::string> text{};
  std::size_t cost = 0;  ///< Of the changes since the last whole state.
};

/// Thread safety: every method may be called from any thread at any time.
class Recent {
 public:
  explicit Recent(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  [[nodiscard]] std::optional<Known> find(const std::string& thread);
  /// Forgets those used longest ago where there is not room for all.
  void keep(const std::string& thread, Known known);
  void forget(const std::string& thread);

 private:
  using Order = std::list<std::pair<std::string, Known>>;
  void drop(Order::iterator place);

  const std::size_t bytes_max_;
  std::mutex mutex_;
  Order order_;  ///< The last used one first.
  std::unordered_map<std::string, Order::iterator> places_;
  std::size_t bytes_ = 0;
};

}  // namespace perdure::saver
