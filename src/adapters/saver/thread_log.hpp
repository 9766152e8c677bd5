// A thread's checkpoints as its session holds them.
//
// One put is one entry on the channel `state`, and a checkpoint of the session, labelled
// with the checkpoint's id. The entry is a whole state (kind `whole`, replaces) or what
// changed against the entry before it on the line (kind `change`, appends): so the store
// itself finds where a fold begins, and prune knows what is no longer needed.
//
// A change, or delta: parts of the old text that stay, and new text between them. Its JSON is
// `{"size": 40, "parts": [[0, 12], "new text", [20, 20]]}`: a pair is a range of the text before
// (offset, bytes), a string is new; `size` is the whole's. Texts are UTF-8, and are cut between
// characters only.

#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/store.hpp"

namespace perdure::saver {
struct Range {
  std::size_t from = 0;
  std::size_t size = 0;

  bool operator==(const Range&) const = default;
};

using Part = std::variant<Range, std::string>;

struct Delta {
  std::size_t size = 0;  ///< Of the text it makes.
  std::vector<Part> parts{};

  bool operator==(const Delta&) const = default;
};

[[nodiscard]] Delta diff(std::string_view base, std::string_view next);

[[nodiscard]] std::string to_json(const Delta& delta);
/// Fails: `unsupported` for a newer version; `corrupted` for anything else that is none.
[[nodiscard]] Result<Delta> delta_from_json(std::string_view text);

/// Makes the text that a row of deltas leads to, from the last delta to the first. What is still
/// wanted is a few ranges of the text before; what a delta brings new is kept with its place. So
/// no delta has to stay in memory, and nothing is copied that is not part of the text.
class Folding {
 public:
  /// `size` is that of the last delta.
  explicit Folding(std::size_t size);

  /// Takes the next delta, in the order from the last to the first.
  /// Fails: `corrupted` if what came after does not fit it.
  [[nodiscard]] Result<void> go_back(const Delta& delta);

  /// Takes the text before the first delta, and gives the one that was made. Ends this.
  /// Fails: `corrupted` if the deltas do not fit it.
  [[nodiscard]] Result<std::string> finish(std::string_view base);

 private:
  /// A part of the text to be made that is still to be found, in the text before.
  struct Wanted {
    std::size_t to = 0;
    Range range{};
  };

  /// A piece of the text to be made that was found.
  struct Found {
    std::size_t to = 0;
    std::string text{};
  };

  void find(const Delta& delta, Wanted wanted);
  void take(const Part& part, std::size_t to, Range inside);
  void want(std::size_t to, Range range);

  std::size_t size_ = 0;
  std::vector<Found> found_;
  std::vector<Wanted> wanted_;
  std::vector<Wanted> before_;       ///< What is wanted of the text before the delta in hand.
  std::vector<std::size_t> starts_;  ///< Where the parts of the delta in hand begin.
};

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
// A hint, never the truth: its user checks under the session's lease that nothing came after it.

/// A thread as the last put left it.
struct Known {
  std::string life{};  ///< Of the session: one recreated under the same id has another.
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
