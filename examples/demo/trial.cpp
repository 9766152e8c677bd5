// A life is of random length, from too short to open the store to some hundred turns.
// Whether a turn that was begun but not acknowledged is there is learnt from the next
// writer, which finds it or does not; the last life is for that, and ends after one turn.

#include "trial.hpp"

#include <fmt/format.h>
#include <optional>
#include <random>
#include <sstream>

#include "victim.hpp"

namespace demo {
namespace {

constexpr auto life_min = std::chrono::microseconds(2'000);
constexpr auto life_max = std::chrono::microseconds(400'000);
constexpr auto patience = std::chrono::seconds(20);

class Trial {
 public:
  explicit Trial(const Plan& plan) : plan_(plan), chance_(plan.seed) {}

  Record run(const Progress& progress) {
    while (record_.kills < plan_.kills && record_.troubles.empty()) {
      Victim victim({"--writer", plan_.store_path});
      live(victim, victim.started() + random_life());
      record_.kills += victim.has_ended() ? 0 : 1;
      bury(victim);
      progress(record_);
    }
    Victim last({"--writer", plan_.store_path});
    const std::size_t recovered = record_.recoveries.size();
    while (record_.recoveries.size() == recovered && record_.troubles.empty()) {
      const auto line = last.read_line(last.started() + patience);
      if (!line)
        record_.troubles.emplace_back("the last writer did not get to a new turn");
      else
        hear(*line, last);
    }
    bury(last);
    return std::move(record_);
  }

 private:
  std::chrono::microseconds random_life() {
    std::uniform_int_distribution<std::int64_t> length(life_min.count(), life_max.count());
    return std::chrono::microseconds(length(chance_));
  }

  void live(Victim& victim, Time until) {
    is_new_life_ = true;
    while (auto line = victim.read_line(until)) {
      hear(*line, victim);
      if (std::chrono::steady_clock::now() >= until) return;
    }
    if (victim.has_ended()) record_.troubles.emplace_back("a writer ended by itself");
  }

  void bury(Victim& victim) {
    victim.kill();
    while (auto line = victim.read_line(Time::max())) hear(*line, victim);
    is_new_life_ = true;
  }

  void hear(const std::string& line, const Victim& victim) {
    std::istringstream words(line);
    std::string word;
    Version turn = 0;
    words >> word >> turn;
    if (word == "found") return found(turn);
    if (word == "begin") {
      begun_ = turn;
      return;
    }
    std::string chain;
    words >> chain;
    if (word != "done") return record_.troubles.push_back(line);
    acknowledge(turn, chain, victim);
  }

  void found(Version turns) {
    const Version told = record_.acknowledged.empty() ? 0 : record_.acknowledged.rbegin()->first;
    // One that was killed before it could ask again found it, too.
    const Version seen = std::max(told, found_);
    if (turns < seen || turns > std::max(seen, begun_.value_or(0))) {
      record_.troubles.push_back(fmt::format("{} turns were acknowledged, {} found", told, turns));
    }
    if (begun_ && *begun_ > told) ++(turns == *begun_ ? record_.present : record_.absent);
    begun_.reset();
    found_ = turns;
  }

  void acknowledge(Version turn, const std::string& chain, const Victim& victim) {
    begun_.reset();
    const auto [known, is_first] = record_.acknowledged.emplace(turn, chain);
    if (!is_first && known->second != chain) {
      record_.troubles.push_back(fmt::format("turn {}, repeated, got another receipt", turn));
    }
    if (turn <= found_ || !is_new_life_) return;
    is_new_life_ = false;
    record_.recoveries.emplace_back(std::chrono::steady_clock::now() - victim.started());
  }

  const Plan& plan_;
  std::mt19937_64 chance_;
  Record record_;
  std::optional<Version> begun_;  ///< Not yet acknowledged.
  Version found_ = 0;
  bool is_new_life_ = true;
};

}  // namespace

Record run_trial(const Plan& plan, const Progress& progress) { return Trial(plan).run(progress); }

}  // namespace demo
