// Nobody here waits for a time to pass: a process says where it is, or ends.

#include "effects/rivals.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "crash/child_process.hpp"
#include "doubles/must.hpp"
#include "effects/play.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "world/wire.hpp"

namespace perdure::effects {

std::unique_ptr<ChildProcess> Rivals::start(const OwnerWords& words) const {
  return std::make_unique<ChildProcess>(
      "effects_owner", std::vector<std::string>{trial_.location(), trial_.world().socket(),
                                                std::string(to_string(trial_.manner())), words.stop,
                                                words.renews_late ? "renew" : "-", words.ahead,
                                                std::to_string(words.wait.count())});
}

bool Rivals::play_first(const std::string& stop, bool renews_late) {
  first_ = start({.stop = stop, .renews_late = renews_late});
  while (auto line = first_->read_line()) {
    if (*line == "stops") return first_->wait_until_stopped();
    trial_.hear(*line);
  }
  return false;
}

void Rivals::take_over(const OwnerWords& words) {
  second_ = start(words);
  hear_second();
}

void Rivals::hear_second() {
  while (auto line = second_->read_line()) {
    trial_.hear(*line);
    if (line->starts_with("later ")) return;
  }
  second_.reset();
}

std::string Rivals::wake_first() {
  const Portrait before = portrait();
  first_->go_on();
  std::string last;
  for (std::string& line : first_->read_to_end()) last = std::move(line);
  (void)first_->wait();
  if (portrait() != before) complaints_.emplace_back("the first owner wrote something");
  return last;
}

void Rivals::finish() {
  while (second_ != nullptr) {
    second_->tell("go on");
    hear_second();
  }
  trial_.finish();
}

Portrait Rivals::portrait() const {
  const auto store = must(open_store(trial_.location()));
  const SessionSummary row = must(store->sessions().read(trial_.session()));
  return {.log = must(store->log().read(trial_.session(), {})),
          .calls = must(store->ledger().list({.session = trial_.session()})),
          .status = row.status,
          .version = row.version};
}

std::vector<world::Tally> Rivals::effects() const {
  auto all = trial_.world().all();
  std::erase_if(all, [](const world::Tally& of) { return of.op.starts_with("response-"); });
  return all;
}

const std::vector<std::string>& Rivals::complaints() {
  for (const std::string& complaint : trial_.complaints()) complaints_.push_back(complaint);
  return complaints_;
}

}  // namespace perdure::effects
