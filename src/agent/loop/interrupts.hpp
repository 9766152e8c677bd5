// What may stop a turn in the middle of a step: whoever runs it, its time, mail that pauses or cancels
// the session.
//
// A thread of its own looks at the clock and at the inbox a few times a second; a turn that is over
// sooner costs no look. Nothing is taken in here: the turn that is stopped takes its mail itself.

#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <thread>

#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/store.hpp"

namespace perdure::loop {

class Interrupts {
 public:
  enum class By : std::uint8_t { nobody, caller, time, mail };

  struct Parts {
    Clock& clock;
    Store& store;
    SessionId session{};
    std::stop_token caller{};
    std::optional<Duration> time{};  ///< That is left; empty: no limit.
  };
  explicit Interrupts(Parts parts);
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  [[nodiscard]] std::stop_token token() const { return stop_.get_token(); }
  /// Who stopped it: the first.
  [[nodiscard]] By by() const { return by_.load(); }

 private:
  struct Relay {
    Interrupts* to;
    void operator()() const { to->stop(By::caller); }
  };

  void stop(By by);
  void watch(const std::stop_token& over);
  [[nodiscard]] Duration until_next_look() const;
  [[nodiscard]] bool is_late() const;
  [[nodiscard]] bool has_mail();

  const Parts parts_;
  const std::optional<Uptime> until_;
  std::atomic<By> by_{By::nobody};
  std::stop_source stop_;
  std::stop_callback<Relay> relay_;
  std::optional<std::uint64_t> seen_;  ///< The store's number when the inbox was looked at.
  std::jthread thread_;                ///< Last: it uses all of the above, and is waited for first.
};

}  // namespace perdure::loop
