// Several sessions that commit turn after turn, each on a thread, while their server goes through
// something: every second one without calls, so that some are committed together. And whether all that was acknowledged is there afterwards, once and in order.

#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "crash/load.hpp"
#include "perdure/store/store.hpp"

namespace perdure {

class PgLoad {
 public:
  /// Begins. The store must exist.
  PgLoad(std::string location, int sessions);
  ~PgLoad();
  PgLoad(const PgLoad&) = delete;
  PgLoad& operator=(const PgLoad&) = delete;

  [[nodiscard]] int acknowledged() const { return acknowledged_; }
  /// Returns once so many more commits were acknowledged, in all; false if they were not in a minute.
  [[nodiscard]] bool wait_for(int more);
  /// Ends the load; what went wrong, or nothing. Reads from where it wrote.
  [[nodiscard]] std::vector<std::string> finish();

 private:
  struct Line {
    SessionId session{};
    Calls calls{};
    Version turns = 0;
    std::vector<Receipt> receipts{};
    std::string wrong{};
  };

  void run(Line& line);
  [[nodiscard]] std::string judge(Store& store, const Line& line) const;

  const std::string location_;
  std::unique_ptr<Store> store_;
  std::atomic<int> acknowledged_ = 0;
  std::atomic<bool> is_over_ = false;
  std::vector<std::unique_ptr<Line>> lines_;
  std::vector<std::jthread> threads_;
};

}  // namespace perdure
