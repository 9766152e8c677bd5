// One session, its world, and the judge: what the players said, what the log says, and what the
// world knows must agree.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "contract/backends.hpp"
#include "doubles/temp_folder.hpp"
#include "effects/play.hpp"
#include "perdure/core/id.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/store.hpp"
#include "world/world.hpp"

namespace perdure::effects {

/// Where a player dies; 0: it does not.
struct Death {
  std::uint64_t write = 0;
  std::uint64_t moment = 0;
};

class Trial {
 public:
  Trial(Manner manner, const Backend& backend)
      : manner_(manner), backend_(backend), world_(folder_.path()) {}
  virtual ~Trial() = default;
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  [[nodiscard]] World& world() { return world_; }
  [[nodiscard]] const World& world() const { return world_; }
  [[nodiscard]] std::string location() const { return home_.location(); }
  [[nodiscard]] const SessionId& session() const { return id_; }
  [[nodiscard]] Manner manner() const { return manner_; }

  /// Plays, dying as told. True: it came to its end, or to a question. A write to a file dies half-way;
  /// of a server, an odd death leaves a round trip out, an even one makes it and tells nobody.
  virtual bool play(const Death& death);
  /// Plays on, and answers questions truthfully, until it is done.
  void finish();
  void judge();
  /// What a player says, also one that somebody else started.
  void hear(const std::string& line);

  [[nodiscard]] const std::vector<std::string>& complaints() const { return complaints_; }
  /// How many places there were to die at, in a run that came to its end.
  [[nodiscard]] Death points() const { return points_; }

 private:
  /// The store, for a look from outside.
  [[nodiscard]] virtual std::shared_ptr<Store> look();

  void wrong(const std::string& what) { complaints_.push_back(what); }
  void decide(Position call);
  void judge_ledger();
  void judge_money();

  const Manner manner_;
  const Backend backend_;
  const StorePlace home_{backend_, memory_folder()};
  const TempFolder folder_ = TempFolder::in_memory();
  const SessionId id_ = SessionId::parse("the-session").value();
  World world_;
  std::set<std::string> answered_;
  std::optional<Position> waits_;
  bool is_done_ = false;
  Death points_;
  std::vector<std::string> complaints_;
};

}  // namespace perdure::effects
