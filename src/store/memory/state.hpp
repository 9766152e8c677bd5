// The state of a memory store, the lock that protects it, and how a commit is undone.

#pragma once

#include <algorithm>
#include <chrono>
#include <concepts>
#include <condition_variable>
#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <ranges>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/api/own_process.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "rules/moves.hpp"
#include "rules/retention.hpp"
#include "store/api/lookup.hpp"
#include "store/api/transfer.hpp"

namespace perdure::memory {

// A value and the lock that protects it, as one object: the value cannot be
// reached without the lock. In a child of fork(2) the lock may be held by a thread that is not there:
// work that can fail does so instead.

template <class T>
class Guarded {
 public:
  /// Calls `work` with the value, alone, and returns what it returns. No reference
  /// to the value may outlive it.
  template <class Work>
  auto with(Work&& work) -> std::invoke_result_t<Work, T&> {
    if constexpr (can_fail<std::invoke_result_t<Work, T&>>) {
      if (auto here = process_.check(); !here) return forward(here);
    }
    auto result = [&] {
      const std::scoped_lock lock(mutex_);
      return std::forward<Work>(work)(value_);
    }();
    changed_.notify_all();
    return result;
  }

  /// Sleeps until `is_met` says so of the value, at most for `timeout`; then as `with`.
  template <class Predicate, class Work>
  auto wait(Duration timeout, Predicate&& is_met, Work&& work) -> std::invoke_result_t<Work, T&> {
    if (auto here = process_.check(); !here) return forward(here);
    // The standard library adds the timeout to its clock, and that must not overflow.
    constexpr Duration century = std::chrono::years(100);
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::clamp(timeout, Duration(0), century),
                      [&] { return is_met(value_); });
    return std::forward<Work>(work)(value_);
  }

 private:
  template <class Outcome>
  static constexpr bool can_fail = std::constructible_from<Outcome, std::unexpected<Error>>;

  const OwnProcess process_;
  std::mutex mutex_;
  std::condition_variable changed_;
  T value_;
};

// Everything a memory store holds, as plain values in plain tables.
//
// What is derived (a holder, whether it is alive) is not kept but worked out when
// it is asked for. What must not be searched for in long histories is kept twice:
// the running totals of each entry, and who holds which key.

struct WorkerRow {
  NewWorker worker;
  Uptime until{};

  bool operator==(const WorkerRow&) const = default;
};

/// Who holds a session or a resource. The fence outlives the owner: it never goes down.
struct Grant {
  struct Owner {
    WorkerId worker;
    Timestamp since{};
    bool operator==(const Owner&) const = default;
  };

  std::optional<Owner> owner;
  Fence fence = 0;

  bool operator==(const Grant&) const = default;
};

struct EntryRow {
  Entry entry;
  Tally total;  ///< Of the line up to and with this entry.

  bool operator==(const EntryRow&) const = default;
};

/// Its entries by position, from `segment.first` on; there are gaps where some were pruned.
struct SegmentTable {
  Segment segment;          ///< Without a session if that is removed.
  std::uint64_t owner = 0;  ///< `SessionTable::born`, also of a session that is removed.
  std::vector<EntryRow> entries;
  std::vector<rules::Shadow> shadows;  ///< By position; no two touch.

  bool operator==(const SegmentTable&) const = default;
};

struct CheckpointRow {
  Checkpoint checkpoint;
  SegmentId segment = 0;

  bool operator==(const CheckpointRow&) const = default;
};

/// Every message there ever was.
struct MessageRow {
  std::optional<std::uint64_t> arrival;  ///< Empty once it is consumed.
  std::string kind;
  Codec codec = Codec::bytes;
  Timestamp at{};

  bool operator==(const MessageRow&) const = default;
};

struct InboxTable {
  std::map<std::uint64_t, InboxMessage> pending;  ///< By arrival.
  std::map<MessageId, MessageRow> messages;

  bool operator==(const InboxTable&) const = default;
};

struct ReceiptRow {
  Receipt receipt;
  std::uint64_t number = 0;  ///< The session's commits in order.
  SegmentId segment = 0;
  Fence fence = 0;

  bool operator==(const ReceiptRow&) const = default;
};

struct SessionTable {
  SessionSummary row;  ///< Without the holder, which follows from the grant.
  rules::Moved moved;  ///< `row` shows it too.
  std::uint64_t born = 0;
  Grant grant;
  std::vector<SegmentId> segments;  ///< The last one is active.
  std::map<Version, CheckpointRow> checkpoints;
  std::map<Position, Call> calls;
  std::map<BatchId, ReceiptRow> receipts;
  Digest chain{};
  InboxTable inbox;

  bool operator==(const SessionTable&) const = default;
};

struct CallRef {
  SessionId session;
  Position position = 0;

  bool operator==(const CallRef&) const = default;
};

struct BlobRow {
  std::string bytes;
  Timestamp put_at{};  ///< For the last time.

  bool operator==(const BlobRow&) const = default;
};

/// What was taken in of an arrival.
struct ArrivalRow {
  rules::OpenArrival open;
  rules::Numbers numbers;
  std::vector<Fact> facts;  ///< Under our numbers. Each session's active segment is the source's.

  bool operator==(const ArrivalRow&) const = default;
};

struct State {
  std::map<SessionId, SessionTable> sessions;
  std::map<SegmentId, SegmentTable> segments;
  std::map<WorkerId, WorkerRow> workers;
  std::map<std::string, Grant> resources;
  std::map<Digest, std::vector<CallRef>> calls_by_key;
  std::map<Digest, CallRef> key_holders;
  std::map<Digest, Call> claims;  ///< Keys that calls of removed sessions hold.
  std::map<Digest, BlobRow> blobs;
  std::map<std::string, std::uint64_t> marked;  ///< Attempts, by the target's incarnation.
  std::map<std::string, ArrivalRow> arrivals;   ///< By the source's.
  SegmentId last_segment = 0;
  std::uint64_t births = 0;
  std::uint64_t messages = 0;

  std::uint64_t changes = 0;
  /// As StoreInfo has them.
  struct Counters {
    std::uint64_t commits = 0;
    std::uint64_t transactions = 0;
    std::uint64_t rows_read = 0;
    bool operator==(const Counters&) const = default;
  };
  Counters counters;

  /// To be called once by every write that did something.
  void note_change() {
    ++changes;
    ++counters.transactions;
  }

  bool operator==(const State&) const = default;
};

// Taking a change back that turned out to be impossible half way.
//
// Before something is changed, it is named here. Unless `keep` is called, all of it
// is put back as it was, last change first. The cost is that of what changes, never
// that of the tables it is in.

class Undo {
 public:
  Undo() = default;
  Undo(const Undo&) = delete;
  Undo& operator=(const Undo&) = delete;

  ~Undo() {
    for (const auto& step : steps_ | std::views::reverse) step();
  }

  /// `value` will change.
  template <class T>
  void of_value(T& value) {
    steps_.push_back([&value, before = value] { value = before; });
  }

  /// Elements will be added at the end.
  template <class T>
  void of_end(std::vector<T>& elements) {
    steps_.push_back([&elements, size = elements.size()] {
      elements.erase(elements.begin() + static_cast<std::ptrdiff_t>(size), elements.end());
    });
  }

  /// What is at `key` will be added, changed or removed.
  template <class Map>
  void of_key(Map& map, const typename Map::key_type& key) {
    const auto found = map.find(key);
    if (found == map.end()) {
      steps_.push_back([&map, key] { map.erase(key); });
    } else {
      steps_.push_back([&map, key, before = found->second] { map.insert_or_assign(key, before); });
    }
  }

  void keep() { steps_.clear(); }

 private:
  std::vector<std::function<void()>> steps_;
};

}  // namespace perdure::memory
