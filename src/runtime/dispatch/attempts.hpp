// The attempts that this process makes: tools and their verify, run on threads, waited for as
// long as their time lasts.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "dispatch/attempt.hpp"
#include "dispatch/view.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/tool.hpp"
#include "session/held_session.hpp"

namespace perdure::dispatch {

/// What an attempt came to, once.
struct Ended {
  ToolOutcome outcome{};
  bool has_returned = true;  ///< False: its time is over, and it still runs.
};

/// Of a call that is dispatched and will not be run.
[[nodiscard]] Ended not_begun();

/// How many calls have failed under the call's key. From its first attempt on it is what it was then,
/// whatever becomes of other calls and their sessions: all attempts have one key of the vendor.
/// Fails: as the ledger's readers.
[[nodiscard]] Result<std::int64_t> key_generation(const HeldSession& held, const CallView& call);

class Attempts {
 public:
  explicit Attempts(HeldSession& held) : held_(held) {}

  /// Runs the calls, which are dispatched, at the same time. The result has one for each. A call
  /// whose time is over is asked to stop, and all are when this is; then they are waited for as long
  /// as Policy::stop_patience lasts. Asked before they began, none is begun.
  /// Fails: as the ledger's readers, before anything was run.
  [[nodiscard]] Result<std::vector<Ended>> run(const std::vector<CallView>& calls,
                                               const std::stop_token& stop = {});

  /// Whether the call took effect. What throws or takes too long cannot tell.
  /// Fails: as the ledger's readers.
  /// Once `until` is requested it is asked to stop, and not waited for: then the verdict says nothing.
  [[nodiscard]] Result<Verdict> verify(const CallView& call, const std::stop_token& until);

  /// Ends what earlier attempts left running. Why something may still run; empty: nothing does, or
  /// the tool leaves nothing. What throws or takes too long may have left something.
  /// Once `until` is requested it is asked to stop.
  /// Fails: as the ledger's readers.
  [[nodiscard]] Result<std::optional<std::string>> end_leftovers(const CallView& call,
                                                                 const std::stop_token& until);

  /// Waits for all that have not come back, at most so long; empty: as long as it takes. Whether all
  /// have.
  [[nodiscard]] bool wait(std::optional<Duration> patience);
  /// Those that have not.
  [[nodiscard]] std::vector<Position> running() const;
  [[nodiscard]] bool has_late() const { return !late_.empty(); }

  /// Whether an attempt of this process has not come back.
  [[nodiscard]] bool is_running(Position call) const;
  /// An attempt that was given up has ended, and what it says is still to be taken.
  [[nodiscard]] bool has_come_back(Position call) const;
  /// What an attempt said that came back after its time; once.
  [[nodiscard]] std::optional<ToolOutcome> take_late(Position call);

 private:
  struct Said {
    ToolOutcome outcome;
    Said(ToolOutcome said) : outcome(std::move(said)) {}  // NOLINT: a plain wrapper
    Said(Thrown thrown) {                                 // NOLINT
      if (thrown.has_begun) {
        outcome = Doubtful{std::move(thrown.what)};
      } else {
        outcome = Failed{std::move(thrown.what)};
      }
    }
  };
  using Running = Attempt<Said>;

  /// When an attempt was asked to stop, and why if nobody wanted that: words before what it says.
  struct Asked {
    Uptime at{};
    std::string why{};
  };

  [[nodiscard]] Result<std::unique_ptr<Running>> start(const CallView& call);
  /// Empty where it was over by itself.
  [[nodiscard]] std::vector<std::optional<Asked>> watch(
      const std::vector<CallView>& calls, const std::vector<std::unique_ptr<Running>>& running,
      const std::stop_token& stop);
  [[nodiscard]] Ended end_of(const CallView& call, std::unique_ptr<Running> running,
                             const std::optional<Asked>& asked);

  struct Answer {
    Verdict verdict;
    Answer(Verdict said) : verdict(std::move(said)) {}  // NOLINT: a plain wrapper
    Answer(Thrown thrown) : verdict(CannotTell{std::move(thrown.what)}) {}  // NOLINT
  };
  using Asking = Attempt<Answer>;

  HeldSession& held_;
  std::map<Position, std::unique_ptr<Running>> late_;
  /// Given up before they answered.
  std::vector<std::unique_ptr<Asking>> unanswered_;
};

}  // namespace perdure::dispatch
