// The clock that came in judges; the machine's only paces the looks at it.

#include "loop/interrupts.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <optional>
#include <stop_token>
#include <utility>

#include "perdure/core/time.hpp"
#include "perdure/runtime/session.hpp"
#include "perdure/store/store.hpp"
#include "runtime/api/read.hpp"

namespace perdure::loop {
namespace {

constexpr Duration pace = std::chrono::milliseconds(200);
constexpr std::size_t mails_max = 100;

std::optional<Uptime> end_of(const Interrupts::Parts& parts) {
  if (!parts.time) return std::nullopt;
  return parts.clock.uptime() + *parts.time;
}

}  // namespace

Interrupts::Interrupts(Parts parts)
    : parts_(std::move(parts)),
      until_(end_of(parts_)),
      relay_(parts_.caller, Relay{this}),
      thread_([this](const std::stop_token& over) { watch(over); }) {}

void Interrupts::stop(By by) {
  By nobody = By::nobody;
  by_.compare_exchange_strong(nobody, by);
  stop_.request_stop();
}

void Interrupts::watch(const std::stop_token& over) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  while (!stop_.stop_requested()) {
    if (is_late()) return stop(By::time);
    static_cast<void>(never.wait_for(lock, over, until_next_look(), [] { return false; }));
    if (over.stop_requested()) return;
    if (has_mail()) return stop(By::mail);
  }
}

bool Interrupts::is_late() const { return until_ && parts_.clock.uptime() >= *until_; }

Duration Interrupts::until_next_look() const {
  if (!until_) return pace;
  return std::clamp(*until_ - parts_.clock.uptime(), Duration(1), pace);
}

// What cannot be read now is read at the next look, or by the turn itself.
bool Interrupts::has_mail() {
  const auto now = parts_.store.change_number();
  if (!now || seen_ == *now) return false;
  const auto mails = parts_.store.inbox().list(parts_.session, mails_max);
  if (!mails) return false;
  seen_ = *now;
  return std::ranges::any_of(*mails, stops_a_turn);
}

}  // namespace perdure::loop
