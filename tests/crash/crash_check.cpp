// Reading what a dead writer left, and going on from it.

#include "crash/crash_check.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <span>
#include <sstream>

#include "crash/stored_file.hpp"
#include "doubles/difference.hpp"
#include "doubles/fake_clock.hpp"
#include "perdure/store/store.hpp"
#include "store/sqlite/sqlite_store.hpp"

namespace perdure {
namespace {

OpenOptions with(FakeClock& clock) {
  OpenOptions options;
  options.clock = &clock;
  return options;
}

}  // namespace

std::string answer_text(const Action& step) {
  return step.answer ? *step.answer
                     : "refused: " + std::string(to_string(step.answer.error().code));
}

void Testimony::hear(const std::string& line) {
  std::istringstream words(line);
  std::string word;
  words >> word;
  if (word == "lease") {
    std::string session;
    Fence fence = 0;
    words >> session >> fence;
    if (fence <= fences_[session]) trouble_ = "a lease without a higher fence: " + line;
    fences_[session] = fence;
  } else if (word == "step") {
    std::size_t number = 0;
    words >> number;
    const std::string answer = line.substr(static_cast<std::size_t>(words.tellg()) + 1);
    if (number == answers_.size() + 1) answers_.push_back(answer);
    if (number > answers_.size() || answers_[number - 1] != answer) {
      trouble_ = fmt::format("step {} has another answer: {}", number, answer);
    }
  } else if (word == "writes") {
    std::uint64_t count = 0;
    words >> count;
    writes_ = count;
  } else {
    trouble_ = line;
  }
}

Fence Testimony::fence(const SessionId& session) const {
  const auto found = fences_.find(session.text());
  return found == fences_.end() ? 0 : found->second;
}

CrashCheck::CrashCheck(Load load) : load_(load), vfs_("check") {
  // Nothing here is about syncs, and a sweep opens a thousand stores.
  vfs_.skip_syncs();
  const std::string blob = Script::blob(load);
  ask_for_ = {.receipts = Script::batches(),
              .blobs = {{.digest = sha256(blob), .size = blob.size()}}};
  FakeClock clock;
  auto store = open_store("memory:", with(clock)).value();
  const auto worker = WorkerId::parse("reference").value();
  (void)store->ownership().enroll({.id = worker, .host = "here", .pid = 1});
  portraits_.push_back(portrait(*store, ask_for_));
  Script script(*store, clock, worker, load_);
  script.run([&](std::size_t, const Action& step) {
    answers_.push_back(answer_text(step));
    portraits_.push_back(portrait(*store, ask_for_));
  });
}

Result<std::unique_ptr<Store>> CrashCheck::open(const std::string& location,
                                                FakeClock& clock) const {
  OpenOptions options = with(clock);
  if (const auto path = file_of(location)) {
    return sqlite::open_sqlite({.path = *path, .open = options, .vfs = vfs_.name()});
  }
  options.durability = Durability::process;
  return open_store(location, options);
}

std::string CrashCheck::find_fault(const std::string& location, const Testimony& testimony) const {
  if (!testimony.trouble().empty()) return testimony.trouble();
  FakeClock clock;
  auto store = open(location, clock);
  if (!store) return "the store does not open: " + store.error().message;
  if (auto fault = compare(**store, testimony); !fault.empty()) return fault;
  if (auto fault = go_on(**store, clock, testimony); !fault.empty()) return fault;
  store->reset();
  return find_damage(location);
}

std::string CrashCheck::compare(Store& store, const Testimony& testimony) const {
  const std::size_t acknowledged = testimony.acknowledged();
  if (!std::ranges::equal(testimony.answers(), std::span(answers_).first(acknowledged))) {
    return "the answers differ from those of the store in memory";
  }
  const std::string found = portrait(store, ask_for_);
  const std::size_t next = acknowledged + (testimony.may_hold_next() ? 1 : 0);
  const std::size_t in_flight = std::min(next, steps());
  for (std::size_t steps = testimony.synced(); steps <= in_flight; ++steps) {
    if (found == portraits_[steps]) return {};
  }
  return fmt::format(
      "after {} acknowledged steps, {} of them synced, the store holds neither those nor the "
      "next too;{}{}",
      acknowledged, testimony.synced(), difference(portraits_[acknowledged], found),
      difference(portraits_[in_flight], found));
}

std::string CrashCheck::go_on(Store& store, FakeClock& clock, const Testimony& testimony) const {
  for (const SessionId& id : Script::sessions()) {
    const auto session = store.sessions().read(id);
    if (session && session->holder && session->holder->alive) {
      return fmt::format("the dead owner of {} passes for alive", id.text());
    }
  }
  const auto successor = WorkerId::parse("successor").value();
  if (auto enrolled = store.ownership().enroll({.id = successor, .host = "here", .pid = 1});
      !enrolled) {
    return enrolled.error().message;
  }
  std::string fault;
  Script script(store, clock, successor, load_);
  script.on_lease([&](const Lease& lease) {
    if (lease.fence <= testimony.fence(lease.session)) {
      fault = fmt::format("the successor's fence for {} is not higher", lease.session.text());
    }
  });
  script.run([&](std::size_t number, const Action& step) {
    if (answer_text(step) == answers_[number - 1] || !fault.empty()) return;
    fault = fmt::format("step {} ({}), done again:{}", number, step.name,
                        difference(answers_[number - 1], answer_text(step)));
  });
  if (!fault.empty()) return fault;
  const std::string found = portrait(store, ask_for_);
  if (found == portraits_.back()) return {};
  return "at the end of the script:" + difference(portraits_.back(), found);
}

}  // namespace perdure
