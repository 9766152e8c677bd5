// What was thrown is looked at by throwing it again, so that one place knows all kinds of it.

#include "core/api/guarded.hpp"

#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"

namespace perdure {
namespace {

std::string words_of_thrown() {
  try {
    throw;
  } catch (const std::exception& error) {
    const char* const what = error.what();
    return what == nullptr ? "" : what;
  } catch (...) {
    return "something that is not a std::exception";
  }
}

// `told`, `at`: the last answer, and the machine's uptime then.
template <class Time, class Question>
Time ask(std::mutex& mutex, Time& told, Uptime& at, Time fallback, const Question& question) {
  const auto answer = guarded("the clock", question);
  const Uptime machine = system_clock().uptime();
  const std::lock_guard lock(mutex);
  if (answer) {
    told = *answer;
    at = machine;
    return told;
  }
  return at < Uptime(0) ? fallback : told + (machine - at);
}

}  // namespace

Error error_of_thrown(std::string_view name) {
  return {ErrorCode::unavailable, std::string(name) + " threw: " + words_of_thrown(), ""};
}

Timestamp GuardedClock::now() const {
  return ask(mutex_, now_, now_at_, system_clock().now(), [&] { return clock_.now(); });
}

Uptime GuardedClock::uptime() const {
  return ask(mutex_, uptime_, uptime_at_, system_clock().uptime(), [&] { return clock_.uptime(); });
}

RawId GuardedIds::next() {
  const auto id = guarded("the id source", [&] { return ids_.next(); });
  return id ? *id : random_ids().next();
}

GuardedSources::GuardedSources(const Clock* own_clock, IdSource* own_ids)
    : own_clock_(own_clock == nullptr || own_clock == &system_clock()
                     ? nullptr
                     : std::make_unique<GuardedClock>(*own_clock)),
      own_ids_(own_ids == nullptr || own_ids == &random_ids()
                   ? nullptr
                   : std::make_unique<GuardedIds>(*own_ids)),
      clock(own_clock_ ? *own_clock_ : system_clock()),
      ids(own_ids_ ? *own_ids_ : random_ids()) {}

}  // namespace perdure
