// The attempts that this process makes: tools and their verify, run on threads, waited for as
// long as their time lasts.

#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "core/api/guarded.hpp"
#include "dispatch/calls.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/tool.hpp"
#include "writer/session_writer.hpp"

namespace perdure::dispatch {
/// `Said` is what the code returns, a Result: an error also where it throws, or where there was no thread
/// for it.
template <class Said>
class Attempt {
 public:
  /// Asked to stop when `outer` is, or by `request_stop`. `name`: of the code, if it throws.
  Attempt(std::string_view name, std::function<Said(std::stop_token)> code,
          const std::stop_token& outer)
      : relay_(outer, Relay{stop_}) {
    try {
      thread_ = std::jthread([this, name, code = std::move(code)] { run(name, code); });
    } catch (const std::system_error& error) {
      const std::lock_guard lock(mutex_);
      result_ =
          fail(ErrorCode::unavailable, std::string("no thread could be started: ") + error.what());
    }
  }
  ~Attempt() { stop_.request_stop(); }
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;

  /// False: there was no thread for it, and nothing of it ran.
  [[nodiscard]] bool has_begun() const { return thread_.joinable(); }
  /// What it returned; nothing if it is not over after `wait`.
  [[nodiscard]] std::optional<Said> wait_for(Duration wait) {
    if (!is_over_within(wait, {})) return std::nullopt;
    const std::lock_guard lock(mutex_);
    return result_;
  }
  /// Whether it is over; false after `wait`, or when `until` is requested before.
  [[nodiscard]] bool is_over_within(Duration wait, const std::stop_token& until) {
    std::unique_lock lock(mutex_);
    return over_.wait_for(lock, until, wait, [this] { return result_.has_value(); });
  }
  void wait() {
    std::unique_lock lock(mutex_);
    over_.wait(lock, [this] { return result_.has_value(); });
  }
  [[nodiscard]] bool is_over() const {
    const std::lock_guard lock(mutex_);
    return result_.has_value();
  }
  void request_stop() { stop_.request_stop(); }

 private:
  struct Relay {
    std::stop_source stop;
    void operator()() { stop.request_stop(); }
  };

  void run(std::string_view name, const std::function<Said(std::stop_token)>& code) {
    Said said = guarded(name, [&] { return code(stop_.get_token()); });
    const std::lock_guard lock(mutex_);
    result_ = std::move(said);
    over_.notify_all();
  }

  mutable std::mutex mutex_;
  std::condition_variable_any over_;
  std::optional<Said> result_;
  std::stop_source stop_;
  std::stop_callback<Relay> relay_;
  std::jthread thread_;  ///< Last: it uses all of the above, and is waited for first.
};

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
[[nodiscard]] Result<std::int64_t> key_generation(const SessionWriter& writer,
                                                  const CallView& call);

class Attempts {
 public:
  explicit Attempts(SessionWriter& writer) : writer_(writer) {}

  /// Runs the calls, which are dispatched, at the same time. The result has one for each. A call
  /// whose time is over is asked to stop, and all are when this is; then they are waited for as long
  /// as Policy::stop_patience lasts. Asked before they began, none is started.
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
  using Running = Attempt<Result<ToolOutcome>>;
  using Asking = Attempt<Result<Verdict>>;

  /// When an attempt was asked to stop, and why if not by a user: text that precedes what it says.
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

  SessionWriter& writer_;
  std::map<Position, std::unique_ptr<Running>> late_;
  /// Given up before they answered.
  std::vector<std::unique_ptr<Asking>> unanswered_;
};

}  // namespace perdure::dispatch
