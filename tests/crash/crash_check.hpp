// The invariant of every crash and power test on the script, judged against a store in memory
// that ran it undisturbed:
//
// - acknowledged: present, in order, once, and equal in content;
// - not acknowledged: wholly present or wholly absent;
// - repeated: the first answer, and nothing twice;
// - the dead owner is known to be dead, and its successor has a higher fence;
// - the store is whole, and its hash chain follows from its rows.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "crash/portrait.hpp"
#include "crash/script.hpp"
#include "doubles/counting_vfs.hpp"
#include "perdure/store/store.hpp"

namespace perdure {

/// The answer of a step, or the code of its refusal.
[[nodiscard]] std::string answer_text(const Action& step);

/// What writers said before they died.
class Testimony {
 public:
  void hear(const std::string& line);
  /// Only so many of the acknowledged steps were synced: the machine died, and what came
  /// after them may be there up to any step. Without this, all must be.
  void lose_beyond(std::size_t steps) { synced_ = steps; }

  /// The step after the acknowledged ones was refused: nothing of it may be there.
  void refuse_next() { refused_ = true; }

  [[nodiscard]] std::size_t acknowledged() const { return answers_.size(); }
  [[nodiscard]] std::size_t synced() const { return synced_.value_or(answers_.size()); }
  [[nodiscard]] bool may_hold_next() const { return !refused_; }
  [[nodiscard]] const std::vector<std::string>& answers() const { return answers_; }
  [[nodiscard]] Fence fence(const SessionId& session) const;
  /// Only if a run came to its end.
  [[nodiscard]] std::optional<std::uint64_t> writes() const { return writes_; }
  /// The first line that should not have been said.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }

 private:
  std::vector<std::string> answers_;
  std::map<std::string, Fence> fences_;
  std::optional<std::uint64_t> writes_;
  std::optional<std::size_t> synced_;
  bool refused_ = false;
  std::string trouble_;
};

class CrashCheck {
 public:
  explicit CrashCheck(Load load = Load::small);

  [[nodiscard]] std::size_t steps() const { return answers_.size(); }
  [[nodiscard]] Load load() const { return load_; }
  /// Empty if the store at `location` keeps the invariant, else what breaks it. Runs the
  /// script to its end there.
  [[nodiscard]] std::string find_fault(const std::string& location,
                                       const Testimony& testimony) const;
  /// The same without writing anything: only what the store holds.
  [[nodiscard]] std::string compare(Store& store, const Testimony& testimony) const;
  /// What every step must be answered with.
  [[nodiscard]] const std::vector<std::string>& answers() const { return answers_; }

 private:
  [[nodiscard]] Result<std::unique_ptr<Store>> open(const std::string& location,
                                                    FakeClock& clock) const;
  [[nodiscard]] std::string go_on(Store& store, FakeClock& clock, const Testimony& testimony) const;

  Load load_;
  CountingVfs vfs_;
  AskFor ask_for_;
  std::vector<std::string> answers_;
  std::vector<std::string> portraits_;  ///< One more than answers: the first is of an empty store.
};

}  // namespace perdure
