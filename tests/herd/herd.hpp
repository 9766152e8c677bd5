// A herd of sessions, played by several processes at once against one world, and what may be
// done to those processes meanwhile. At its end a judge compares what the world saw with what the
// logs say.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "crash/child_process.hpp"
#include "doubles/temp_folder.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/store.hpp"
#include "world/wire.hpp"
#include "world/world.hpp"

namespace perdure::herd {

class Herd {
 public:
  /// The store must exist. Starts the processes.
  Herd(std::string location, int sessions, int processes);

  [[nodiscard]] std::size_t processes() const { return players_.size(); }
  [[nodiscard]] pid_t pid(std::size_t which) const { return players_[which]->pid(); }
  /// Listens to all of them for a little while, until they have said so many lines more; false if
  /// all have ended before.
  bool hear(int lines);
  /// SIGKILL. Returns when it has ended.
  void kill(std::size_t which);
  /// Another in the place of a killed one.
  void start(std::size_t which);
  /// SIGSTOP and SIGCONT.
  void stop(std::size_t which) const;
  void go_on(std::size_t which) const;

  /// Waits until all have ended, plays what is left to its end, deciding truthfully, and judges.
  /// What went wrong, or nothing.
  [[nodiscard]] std::vector<std::string> finish();

 private:
  void note(std::size_t which, const std::string& line);
  void play_to_the_end(Store& store);
  void decide(Store& store, int number, Position call);
  void judge(Store& store, int number);
  void wrong(int number, const std::string& what);

  const std::string location_;
  const int sessions_;
  const TempFolder folder_ = TempFolder::in_memory();
  World world_{folder_.path()};
  std::uint64_t seed_ = 0;
  std::vector<std::unique_ptr<ChildProcess>> players_;
  int lines_ = 0;
  /// By each process: when it last was about to commit the request.
  std::map<std::pair<std::size_t, std::string>, std::int64_t> reserving_;
  std::map<std::string, std::int64_t> asked_;  ///< When the last request was begun that was made.
  std::map<std::string, std::int64_t> answered_;  ///< When first.
  std::map<std::string, world::Tally> seen_;      ///< By the world.
  std::set<std::string>
      given_up_;  ///< Decided to have failed: nobody could tell, and nothing was there.
  std::vector<std::string> complaints_;
};

}  // namespace perdure::herd
