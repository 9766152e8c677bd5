// A run of somebody's code on a thread of its own, with an end one can wait for.
//
// Nobody can kill a thread: code that does not come back in time is asked to stop, and
// goes on until it does. Whoever drops an attempt waits for that.

#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "perdure/core/guarded.hpp"
#include "perdure/core/time.hpp"

namespace perdure::dispatch {

/// `T` is what the code returns; it must be constructible from `Thrown`.
struct Thrown {
  std::string what{};
  bool has_begun = true;  ///< False: there was no thread for it, and nothing of it ran.
};

template <class T>
class Attempt {
 public:
  /// Asked to stop when `outer` is, or by `request_stop`. `name`: of the code, if it throws.
  Attempt(std::string_view name, std::function<T(std::stop_token)> code,
          const std::stop_token& outer)
      : relay_(outer, Relay{stop_}) {
    try {
      thread_ = std::jthread([this, name, code = std::move(code)] { run(name, code); });
    } catch (const std::system_error& error) {
      const std::lock_guard lock(mutex_);
      result_ = T(Thrown{.what = std::string("no thread could be started: ") + error.what(),
                         .has_begun = false});
    }
  }
  ~Attempt() { stop_.request_stop(); }
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;

  /// What it returned; nothing if it is not over after `wait`.
  [[nodiscard]] std::optional<T> wait_for(Duration wait) {
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

  void run(std::string_view name, const std::function<T(std::stop_token)>& code) {
    auto said = guarded(name, [&] { return code(stop_.get_token()); });
    const std::lock_guard lock(mutex_);
    result_ = said ? *std::move(said) : T(Thrown{std::move(said.error().message)});
    over_.notify_all();
  }

  mutable std::mutex mutex_;
  std::condition_variable_any over_;
  std::optional<T> result_;
  std::stop_source stop_;
  std::stop_callback<Relay> relay_;
  std::jthread thread_;  ///< Last: it uses all of the above, and is waited for first.
};

}  // namespace perdure::dispatch
