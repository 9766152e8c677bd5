// An agent, and a model that sends its bill for every request that arrives, whether its response comes
// through or not. What a session records can so be compared with what was really paid, through any
// number of processes and crashes.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <stop_token>
#include <string>
#include <vector>

#include "perdure/agent/agent.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/store.hpp"

namespace perdure::billed {

/// At a micro for a token.
struct Bill {
  std::uint64_t moment = 0;  ///< As BilledModel::clock said when the request arrived.
  std::int64_t cost = 0;
  std::int64_t most = 0;  ///< That it could have cost, as it was prepared.
  bool is_told = true;    ///< Its response came whole, with its usage.
};

/// What a turn is like: which tools each response asks for, and how the model behaves.
struct Manner {
  std::string name{};
  std::vector<std::vector<std::string>> asked{};  ///< `look` reads, `pay` changes.
  std::size_t result_bytes = 100;
  bool tells_usage = true;
  /// This request's response, the first is 1, breaks off; or is stopped, as by Ctrl-C.
  int breaks_off_at = 0;
  int is_stopped_at = 0;
  /// This request is billed, and not a byte of its response arrives.
  int is_unanswered_at = 0;
};

/// What is wrong with `recorded` once all these were paid; empty: nothing. It is never less, and more
/// only by what nobody can know of those that told no usage, and by `lost`.
[[nodiscard]] std::string find_fault(std::int64_t recorded, const std::vector<Bill>& bills,
                                     std::int64_t lost);

/// For gtest: bytes of pointers are no name.
inline void PrintTo(const Manner& manner, std::ostream* out) { *out << manner.name; }

/// Reads alone, changes, long results, with and without usage, broken off, stopped, not answered.
[[nodiscard]] std::vector<Manner> every_manner();

/// Outlives the agents that ask it.
class BilledModel {
 public:
  explicit BilledModel(Manner manner) : manner_(std::move(manner)) {}

  [[nodiscard]] const Manner& manner() const { return manner_; }
  [[nodiscard]] std::unique_ptr<Provider> make_provider();
  [[nodiscard]] const std::vector<Bill>& bills() const { return bills_; }
  /// The most that a request can cost which was prepared, sent or not.
  [[nodiscard]] std::int64_t most() const { return most_; }

  /// Called when a request, the first is 1, has arrived and is billed.
  std::function<void(int)> on_arrival{};
  std::function<std::uint64_t()> clock{};

 private:
  class Asked;

  Manner manner_;
  std::vector<Bill> bills_;
  std::int64_t most_ = 0;
};

/// One process of the agent, with one session.
class BilledAgent {
 public:
  /// All must outlive it. With an id it takes that session up, else it begins one.
  BilledAgent(Store& store, BilledModel& model, Clock& clock, IdSource& ids,
              const std::optional<SessionId>& id = {});

  [[nodiscard]] const SessionId& id() const { return session_->session().id(); }
  [[nodiscard]] const BudgetTotals& money() const {
    return session_->session().state().budget.totals;
  }
  /// The most that was reserved at any time.
  [[nodiscard]] std::int64_t most_reserved() const { return most_reserved_; }
  Result<TurnReport> run(const std::optional<std::string>& input);
  /// Until the turn is over.
  void finish();

 private:
  std::unique_ptr<Agent> agent_;
  std::optional<AgentSession> session_;
  std::int64_t most_reserved_ = 0;
};

/// After so many commits of the turn, or with the request of that number under way.
struct Death {
  int commits = 0;
  int requests = 0;
};

/// What a process left behind that had one turn.
struct Left {
  SessionId id{};
  bool is_dead = false;  ///< It died before its end.
  std::vector<Bill> bills{};
  std::int64_t most = 0;  ///< As BilledModel::most.
  std::int64_t most_reserved = 0;
};

/// Begins a session and has its turn, to the end or to that death; `die` is called then, and the store
/// hears of the process no more.
[[nodiscard]] Left have_turn(Store& store, Clock& clock, const Manner& manner, const Death& death,
                             const std::function<void()>& die = {});

/// Another process ends the turn, with a model that does its part. What is wrong with the money then,
/// as find_fault.
[[nodiscard]] std::string end_turn(Store& store, Clock& clock, Manner manner, Left left,
                                   std::int64_t lost);

}  // namespace perdure::billed
