// Work that is done at once shows no bar: the first one is drawn after a while.

#include "screen/progress.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include "perdure/core/time.hpp"
#include "perdure/store/upkeep.hpp"
#include "screen/screen.hpp"
#include "screen/text.hpp"

namespace perdure::cli {
namespace {

constexpr Duration patience = std::chrono::milliseconds(300);
constexpr Duration between_bars = std::chrono::milliseconds(100);
constexpr std::size_t longest_bar = 30;
constexpr std::size_t beside_bar = 7;  // Two blanks, the share, and one column that stays free.

}  // namespace

ProgressBar::ProgressBar(Screen& talk, const Clock& clock, std::string what)
    : talk_(talk), clock_(clock), what_(std::move(what)), next_(clock.uptime() + patience) {}

ProgressBar::~ProgressBar() {
  if (is_drawn_) talk_.bytes("\r\x1b[K");
}

Progress ProgressBar::follow() {
  return [this](const Step& step) {
    if (talk_.can_redraw() && clock_.uptime() >= next_) draw(step);
    return true;
  };
}

void ProgressBar::draw(const Step& step) {
  next_ = clock_.uptime() + between_bars;
  is_drawn_ = true;
  const auto total = std::max<std::uint64_t>(step.total, 1);
  const std::uint64_t share = std::min<std::uint64_t>(100, step.done * 100 / total);
  // A line that is too long would be two, and only the second is taken back.
  const std::size_t taken = std::min(talk_.columns(), width_of(what_) + beside_bar);
  const std::size_t bar_columns = std::min(longest_bar, talk_.columns() - taken);
  const std::size_t full = share * bar_columns / 100;
  std::string bar;
  for (std::size_t i = 0; i < bar_columns; ++i) bar += i < full ? "█" : "░";
  talk_.bytes(fmt::format("\r{} {} {:3}%\x1b[K", what_, bar, share));
  talk_.flush();
}

WaitNotice::WaitNotice(Screen& talk, std::string what, Duration after)
    : thread_([&talk, after, what = std::move(what)](const std::stop_token& stop) {
        std::mutex mutex;
        std::unique_lock lock(mutex);
        std::condition_variable_any().wait_for(lock, stop, after, [] { return false; });
        if (stop.stop_requested()) return;
        talk.line(what);
        talk.flush();
      }) {}

}  // namespace perdure::cli
