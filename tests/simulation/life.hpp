// One seed, one life of a tree of sessions: processes that die, come back and overtake each other,
// people who decide, a world that loses things. Then calm, in which all must come to its end.
//
// One thing happens at a time. Tools run on threads of the dispatcher, which waits for them; what
// happens "meanwhile" happens inside a tool's run.

#pragma once

#include <cstdint>
#include <fmt/format.h>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "contract/backends.hpp"
#include "doubles/counting_ids.hpp"
#include "doubles/fake_clock.hpp"
#include "perdure/core/error.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/store.hpp"
#include "property/dice.hpp"
#include "runtime/api/state_details.hpp"
#include "simulation/books.hpp"
#include "simulation/judge.hpp"
#include "simulation/model.hpp"
#include "simulation/process.hpp"
#include "simulation/world.hpp"

namespace perdure::simulation {

class Life {
 public:
  /// In a store of that backend.
  explicit Life(std::uint64_t seed, const Backend& backend = every_backend().front());
  ~Life();

  /// From birth to the end; stops at the first complaint.
  void live();

  [[nodiscard]] const std::vector<std::string>& story() const { return story_; }
  [[nodiscard]] const std::vector<std::string>& complaints() const { return complaints_; }
  /// Every entry in words, for whoever looks for the reason of a complaint.
  [[nodiscard]] std::vector<std::string> logs();
  /// Of every log, every call and every effect.
  [[nodiscard]] std::string digest();

 private:
  template <class... Args>
  void say(fmt::format_string<Args...> text, Args&&... args) {
    hear_the_world();
    story_.push_back(fmt::format(text, std::forward<Args>(args)...));
  }
  void hear_the_world();
  void complain(const std::string& what);

  // life.cpp: the course of it.
  void step(Actor& actor);
  void calm_down();
  void take_up(Actor& actor);
  bool begin(Actor& actor, Process& process);
  void start_process(Actor& actor);
  void plan_mishaps(Process& process);
  void refused(Actor& actor, Process& process, std::string_view what, const Error& error);
  void bury(Actor& actor);
  void wait_out_lease(Actor& actor);
  void judge(Actor& actor);

  // turns.cpp: what a process does with its session.
  void advance(Actor& actor, Process& process);
  void ask(Actor& actor, Process& process);
  void buy(Actor& actor, Process& process);
  void answer(Actor& actor, Process& process);
  void run_calls(Actor& actor, Process& process);
  void find_out(Actor& actor, Process& process);
  static bool drop_if_it_went_back(Process& process);
  void rest(Actor& actor, Process& process);
  void attend(Actor& actor, Process& process);
  void wait_until(Actor& actor, Process& process, Timestamp until);
  void decide(Actor& actor, Process& process, Position call);
  /// Open calls without those that a fork shares: they belong to the session that made them.
  [[nodiscard]] std::vector<OpenCall> own_calls(const Actor& actor, const Process& process);
  void approve(Actor& actor, Process& process, Position call);
  [[nodiscard]] Decision truthful(Actor& actor, Process& process, const OpenCall& call);
  bool is_fine(Actor& actor, Process& process, std::string_view what, const Result<void>& done);

  // tools.cpp: what its tools do.
  [[nodiscard]] Tools tools_for(Actor& actor, Process& process);
  [[nodiscard]] std::string operation_of(const Actor& actor, const Kind& kind, const Json& args,
                                         Position call) const;
  [[nodiscard]] ToolOutcome run_tool(Actor& actor, Process& process, const Kind& kind,
                                     const CallContext& call);
  [[nodiscard]] Verdict verify(Actor& actor, Process& process, const Kind& kind,
                               const VerifyContext& call);
  void check_run(const Actor& actor, const Process& process, const Sent& sent,
                 const CallContext& call);
  void check_twins(const Sent& sent);
  void check_blocking(const Actor& actor, const Sent& sent);
  /// What is said to be done already was done, and not by another session that had its id.
  void check_replays(const Actor& actor);
  bool strike(Actor& actor, Process& process, Ambush death, Ambush overtaken);

  // events.cpp: what comes from outside.
  void befall(Actor& actor);
  void overtake(Actor& actor);
  void go_on_outdated(Actor& actor);
  void post(Actor& actor);
  void scribble(Actor& actor, Process& process);
  void fork(Actor& actor, Process& process);
  void rewind(Actor& actor, Process& process);
  void open_again(Actor& actor, Process& process);
  void remove(Actor& actor);
  /// From now on its id is that of a session that has nothing to do with the one before.
  void be_born(Actor& actor);
  /// Of whatever session minted that root, or first had it.
  const std::string& root_of(const Origin& origin, const std::string& otherwise);
  [[nodiscard]] Point any_point(const Actor& actor);

  const std::uint64_t seed_;
  Dice dice_;
  FakeClock clock_;
  CountingIds ids_;
  CountingIds store_ids_;  ///< How many a store takes is its own business.
  StorePlace home_;
  std::unique_ptr<Store> store_;
  Graves graves_;
  World world_;
  Model model_;
  Policy policy_;
  std::optional<std::int64_t> budget_;
  bool has_jumps_ = false;
  CallBooks calls_;
  Prices prices_;
  Judge judge_;
  std::vector<std::unique_ptr<Actor>> actors_;
  std::map<std::string, std::string> roots_;  ///< The name of each, by its nonce.
  std::uint64_t processes_ = 0;
  std::uint64_t forks_ = 0;
  int depth_ = 0;  ///< In a tool's run: 1.
  bool is_calm_ = false;
  std::vector<std::string> story_;
  mutable std::mutex complaining_;
  std::vector<std::string> complaints_;
};

}  // namespace perdure::simulation
