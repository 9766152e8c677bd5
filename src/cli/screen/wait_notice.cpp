// The thread waits for its end, for so long at most.

#include "screen/wait_notice.hpp"

#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include "perdure/core/time.hpp"
#include "screen/screen.hpp"

namespace perdure::cli {

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
