// A request's fate is drawn from the seed, its call and its attempt.

#include "simulation/world.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "perdure/core/time.hpp"
#include "perdure/runtime/tool.hpp"
#include "property/dice.hpp"
#include "simulation/chance.hpp"
#include "simulation/kinds.hpp"

namespace perdure::simulation {
namespace {

std::string name_of(const Sent& sent) {
  return fmt::format("{}:{}#{}", sent.session, sent.call, sent.attempt);
}

// A vendor that knows the key for ever answers twice and acts once, however late.
bool may_be_excused(const Kind& kind) { return !kind.is_keyed() || kind.key_window.has_value(); }

}  // namespace

World::Fate World::fate_of(const Sent& sent) const {
  if (is_calm_) return Fate::answered;
  Dice dice = dice_for(seed_, "fate " + name_of(sent));
  const auto roll = dice.below(100);
  if (roll < 50) return Fate::answered;
  if (roll < 58) return Fate::refused;
  if (roll < 65) return Fate::not_begun;
  if (roll < 75) return Fate::request_lost;
  if (roll < 86) return Fate::answer_lost;
  if (sent.kind->is_read() || sent.kind->is_local) return Fate::answer_lost;
  // Whoever takes no key cannot tell the second of two from a new one.
  return roll < 92 && sent.kind->is_keyed() ? Fate::doubled : Fate::late;
}

void World::tell(const Sent& sent, const std::string& what) {
  if (sent.kind->is_read()) return;  // Reads run at the same time: their order means nothing.
  news_.push_back(fmt::format("world: {} {} {}", sent.operation, name_of(sent), what));
}

World::Memory* World::recall(const Sent& sent, Uptime at) {
  const auto known = sent.kind->is_keyed() ? keys_.find(sent.key) : keys_.end();
  if (known == keys_.end()) return nullptr;
  const auto& window = sent.kind->key_window;
  if (window && at >= known->second.since + *window) return nullptr;
  return &known->second;
}

// Whether it took effect, now or, as the vendor remembers, before.
bool World::land(const Sent& sent, const Landing& landing) {
  if (const Memory* known = recall(sent, landing.at)) {
    tell(sent, known->is_refused ? "is known, and refused" : "is known, and done already");
    return !known->is_refused;
  }
  if (sent.kind->is_keyed()) keys_[sent.key] = {landing.at, landing.is_refused};
  if (landing.is_refused) {
    tell(sent, "is refused");
    return false;
  }
  if (!sent.kind->is_read()) {
    const bool excused = (landing.is_excused || sent.is_outdated) && may_be_excused(*sent.kind);
    effects_.push_back({sent, excused});
    tell(sent, excused ? "takes effect, and nobody could have known" : "takes effect");
  }
  return true;
}

void World::delay(const Sent& sent) {
  Dice dice = dice_for(seed_, "delay " + name_of(sent));
  const bool is_excused = dice.chance(10);
  const Duration most = is_excused ? 2 * in_flight_max : in_flight_max - Duration(1);
  const Duration least = is_excused ? in_flight_max : Duration(1);
  const auto late = dice.between(static_cast<std::uint64_t>(least.count()),
                                 static_cast<std::uint64_t>(most.count()));
  flights_.push_back({clock_.uptime() + Duration(late), sent, is_excused});
  tell(sent, fmt::format("is under way for {} ms", late));
}

void World::deliver() {
  std::ranges::stable_sort(flights_, {}, &Flight::due);
  while (!flights_.empty() && flights_.front().due <= clock_.uptime()) {
    const Flight flight = std::move(flights_.front());
    flights_.erase(flights_.begin());
    land(flight.sent, {.at = flight.due, .is_excused = flight.is_excused});
  }
}

ToolOutcome World::send(const Sent& sent) {
  const std::lock_guard lock(mutex_);
  deliver();
  const Fate fate = fate_of(sent);
  switch (fate) {
    case Fate::not_begun:
      tell(sent, "does not start");
      return Failed{"the program did not start"};
    case Fate::request_lost:
      tell(sent, "is lost on the way");
      return Doubtful{"the connection was lost"};
    case Fate::late:
      delay(sent);
      return Doubtful{"no answer came"};
    case Fate::answer_lost:
      land(sent, {.at = clock_.uptime()});
      return Doubtful{"the answer was lost"};
    case Fate::doubled:
      delay(sent);
      break;
    case Fate::answered:
    case Fate::refused:
      break;
  }
  const bool is_done = land(sent, {.at = clock_.uptime(), .is_refused = fate == Fate::refused});
  if (!is_done) return Failed{"refused"};
  return Succeeded{.content = fmt::format("{} is done", sent.operation)};
}

Verdict World::verify(const std::string& key) {
  const std::lock_guard lock(mutex_);
  deliver();
  Dice dice = dice_for(seed_, fmt::format("verify {}", ++verifies_));
  if (!is_calm_ && dice.chance(12)) {
    news_.push_back("world: verify cannot tell");
    if (dice.chance(30)) throw std::runtime_error("verify broke");
    return CannotTell{"two of that name"};
  }
  for (const Effect& effect : effects_) {
    if (effect.sent.key != key) continue;
    news_.push_back(fmt::format("world: verify finds {}", effect.sent.operation));
    return Landed{.content = effect.sent.operation + " is done"};
  }
  news_.push_back("world: verify finds nothing");
  return NotLanded{};
}

void World::calm_down() {
  const std::lock_guard lock(mutex_);
  is_calm_ = true;
}

std::optional<Uptime> World::last_landing(const std::string& operation) const {
  const std::lock_guard lock(mutex_);
  std::optional<Uptime> last;
  for (const Flight& flight : flights_) {
    if (flight.sent.operation == operation) last = std::max(last.value_or(Uptime{}), flight.due);
  }
  return last;
}

bool World::has_landed(const std::string& operation) {
  const std::lock_guard lock(mutex_);
  deliver();
  return std::ranges::any_of(
      effects_, [&](const Effect& effect) { return effect.sent.operation == operation; });
}

std::vector<Effect> World::effects() const {
  const std::lock_guard lock(mutex_);
  return effects_;
}

std::vector<std::string> World::take_news() {
  const std::lock_guard lock(mutex_);
  return std::exchange(news_, {});
}

}  // namespace perdure::simulation
