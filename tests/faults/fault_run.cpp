// Between the steps the log is read, so that readers meet the trouble too.

#include "faults/fault_run.hpp"

#include <fmt/format.h>
#include <optional>
#include <utility>

#include "store/sqlite/sqlite_store.hpp"

namespace perdure {
FaultRun::FaultRun(const CrashCheck& check, Trouble trouble)
    : check_(check), trouble_(std::move(trouble)) {}

std::string FaultRun::find_fault(Then then) {
  trouble_.begin();
  std::string fault = open();
  if (fault.empty() && !worker_.empty()) fault = do_script();
  hit_ = trouble_.has_come();
  if (fault.empty() && then == Then::goes_on) fault = go_on();
  store_.reset();
  trouble_.heal();
  return fault.empty() ? check_.find_fault(path(), testimony_) : fault;
}

// What the code of a failure says about what is there now.
std::string FaultRun::note(const Error& error) {
  switch (error.code) {
    case ErrorCode::commit_unknown:
      return {};
    case ErrorCode::closed:
      is_closed_ = was_closed_ = true;
      break;
    case ErrorCode::unavailable:
      break;
    case ErrorCode::corrupted:
      if (trouble_.may_corrupt) break;
      [[fallthrough]];
    default:
      return fmt::format("the trouble shows as {}: {}", to_string(error.code), error.message);
  }
  testimony_.refuse_next();
  return {};
}

// Leaves no store, or a store without a worker, if the trouble came.
std::string FaultRun::open() {
  OpenOptions options;
  options.clock = &clock_;
  auto store = sqlite::open_sqlite({.path = path(), .open = options, .vfs = trouble_.vfs});
  if (!store) return note(store.error());
  store_ = *std::move(store);
  worker_.clear();
  return enroll();
}

// A name that a failed try may have left is not used again.
std::string FaultRun::enroll() {
  const std::string name = fmt::format("worker {}", ++workers_);
  auto enrolled =
      store_->ownership().enroll({.id = WorkerId::parse(name).value(), .host = "here", .pid = 1});
  if (!enrolled) return note(enrolled.error());
  worker_ = name;
  return {};
}

std::string FaultRun::do_script() {
  std::string fault;
  Script script(*store_, clock_, WorkerId::parse(worker_).value(), check_.load());
  script.run([&](std::size_t number, const Action& step) {
    const std::string answer = answer_text(step);
    if (answer == check_.answers()[number - 1]) {
      testimony_.hear(fmt::format("step {} {}", number, answer));
    } else if (step.answer) {
      fault = fmt::format("step {} ({}) says {}", number, step.name, answer);
    } else {
      fault = note(step.answer.error());
      if (!fault.empty()) fault = fmt::format("step {} ({}): {}", number, step.name, fault);
    }
    if (answer != check_.answers()[number - 1]) return script.stop();
    auto entries = store_->log().read(Script::sessions().front(), {});
    const bool read = entries || entries.error().code == ErrorCode::unavailable ||
                      (entries.error().code == ErrorCode::corrupted && trouble_.may_corrupt);
    if (!read) fault = "a read: " + entries.error().message;
    if (!fault.empty()) script.stop();
  });
  return fault;
}

// The cause is gone. Reads see what must be there, and others can write; then the whole
// script is done again.
std::string FaultRun::go_on() {
  trouble_.heal();
  if (store_) {
    if (auto fault = check_.compare(*store_, testimony_); !fault.empty()) return fault;
    if (auto fault = let_another_write(); !fault.empty()) return fault;
  }
  if (is_closed_) store_.reset();
  is_closed_ = false;
  auto fault = do_rest();
  if (!fault.empty() || !is_closed_) return fault;
  store_.reset();
  is_closed_ = false;
  fault = do_rest();
  return is_closed_ ? "the reopened store is closed" : fault;
}

std::string FaultRun::let_another_write() const {
  auto other = sqlite::open_sqlite({.path = path()});
  if (!other) return "another cannot open the store: " + other.error().message;
  const auto synced = (*other)->sync();
  return synced ? "" : "another cannot write: " + synced.error().message;
}

std::string FaultRun::do_rest() {
  std::string fault;
  if (!store_) fault = open();
  if (store_ && fault.empty() && worker_.empty()) fault = enroll();
  if (!fault.empty() || is_closed_) return fault;
  if (!store_ || worker_.empty()) return "the cause is gone, but the store is of no use";
  testimony_ = {};
  fault = do_script();
  if (!fault.empty() || is_closed_) return fault;
  if (testimony_.acknowledged() == check_.steps()) return {};
  return fmt::format("the cause is gone, but step {} still fails", testimony_.acknowledged() + 1);
}

}  // namespace perdure
