// One task (task.hpp), its world, and the judge: what the log says and what the world knows must
// agree, whoever died on the way.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

#include "agent/order.hpp"
#include "agent/task.hpp"
#include "contract/backends.hpp"
#include "crash/child_process.hpp"
#include "doubles/temp_folder.hpp"
#include "perdure/core/id.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/store.hpp"
#include "runtime/api/state_details.hpp"
#include "world/world.hpp"

namespace perdure::agents {

/// Where an agent dies; 0: it does not.
struct Death {
  std::uint64_t write = 0;
  std::uint64_t step = 0;
};

/// What becomes of a program that takes the step at which its agent dies.
enum class Programs : std::uint8_t { live, die };

class Trial {
 public:
  explicit Trial(const Backend& backend, Programs programs = Programs::live,
                 const Task& task = order_task());

  [[nodiscard]] const World& world() const { return world_; }
  [[nodiscard]] std::string file(const std::string& name) const { return folder_.file(name); }
  [[nodiscard]] std::string location() const { return home_.location(); }
  /// Of a backend that has a file.
  [[nodiscard]] std::string store_file() const { return home_.file(); }

  /// Starts an agent; `words` as agent_player has them, besides those that follow from the trial.
  [[nodiscard]] std::unique_ptr<ChildProcess> start(const std::vector<std::string>& words);
  /// Plays, dying as told. A write to a file dies half-way; of a server, an odd death leaves a
  /// round trip out, an even one makes it and tells nobody.
  void play(const Death& death);
  /// What an agent says.
  void hear(const std::string& line);
  /// Plays on, and answers questions truthfully, until it is done.
  void finish();
  /// Answers the question that was heard last, if there is one.
  void decide();
  /// Answers for an operation that is under way, before anybody asks.
  void decide_unasked(std::string_view op);
  void judge();

  [[nodiscard]] const std::vector<std::string>& complaints() const { return complaints_; }
  /// How many places there were to die at, in the first run that came to its end.
  [[nodiscard]] Death points() const { return points_; }
  /// How many responses asked again for what had failed; once it is judged.
  [[nodiscard]] std::size_t repeats() const { return repeats_; }
  /// Operations that somebody was asked about.
  [[nodiscard]] const std::set<std::string>& asked() const { return asked_; }

 private:
  /// The numbers that programs left.
  [[nodiscard]] std::vector<pid_t> programs() const;
  [[nodiscard]] static std::string op_of(const State& state, const OpenCall& call);
  void post_decision(Position call, const std::string& op);
  void wrong(const std::string& what) { complaints_.push_back(what); }
  [[nodiscard]] State read() const;
  /// Responses in the log, and how often each was bought by then.
  [[nodiscard]] std::vector<std::size_t> bought() const;
  void compare(const std::vector<std::size_t>& before);
  void judge_effects();
  void judge_ledger(const std::vector<Call>& calls, const State& state);
  void judge_money(const State& state);
  void judge_conversation(const State& state);
  void judge_task(const State& state, const std::vector<Entry>& log);

  const Backend backend_;
  const Programs programs_;
  const Task& task_;
  const StorePlace home_{backend_, memory_folder()};
  const TempFolder folder_ = TempFolder::in_memory();
  /// Not in memory: there files have no attributes, on some systems.
  const TempFolder desk_;
  const SessionId id_ = SessionId::parse("the-session").value();
  World world_;
  int runs_ = 0;
  std::optional<Position> waits_;
  std::set<std::string> asked_;
  bool is_done_ = false;
  std::size_t repeats_ = 0;
  Death points_;
  std::vector<std::string> complaints_;
};

}  // namespace perdure::agents
