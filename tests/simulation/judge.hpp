// Reads log and ledger afresh, and says what disagrees with the world and the books.

#pragma once

#include <map>
#include <string>
#include <vector>

#include "perdure/core/id.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/store.hpp"
#include "simulation/books.hpp"
#include "simulation/world.hpp"

namespace perdure::simulation {

/// What each response costs, whoever bought it.
using Prices = std::map<std::string, std::int64_t>;

class Judge {
 public:
  /// All must outlive it.
  Judge(Store& store, const World& world, const CallBooks& calls, const Prices& prices)
      : store_(store), world_(world), calls_(calls), prices_(prices) {}

  /// No operation twice; nothing that is unsafe run again by itself.
  void judge_effects();
  /// The log of one session against its ledger, the world and the books.
  void judge_session(const SessionId& id, SessionBooks& books);
  /// What a process believes, against the log.
  void judge_live(const SessionId& id, const State& live);
  /// Of a session that was deleted: as it ended.
  [[nodiscard]] CallState state_of(const CallId& call) const;
  /// Nothing is left open.
  void judge_end(const SessionId& id);

  [[nodiscard]] std::vector<std::string> take_complaints();

 private:
  void wrong(std::string what) { complaints_.push_back(std::move(what)); }
  void judge_history(const State& state);
  void judge_money(const State& state, SessionBooks& books);
  void judge_ledger(const SessionId& id, const std::string& whose);
  void judge_status(const SessionId& id, const State& state);

  Store& store_;
  const World& world_;
  const CallBooks& calls_;
  const Prices& prices_;
  std::vector<std::string> complaints_;
};

}  // namespace perdure::simulation
