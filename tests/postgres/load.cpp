// Nobody here repeats anything: a commit that fails is a failure, whatever happened to the server.

#include "postgres/load.hpp"

#include <chrono>
#include <fmt/format.h>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "crash/load.hpp"
#include "doubles/must.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/store.hpp"
#include "perdure/store/upkeep.hpp"
#include "store/api/lookup.hpp"

namespace perdure {
namespace {

OpenOptions patient() {
  OpenOptions options;
  options.write_wait = std::chrono::minutes(1);
  return options;
}

}  // namespace

PgLoad::PgLoad(std::string location, int sessions)
    : location_(std::move(location)), store_(must(open_store(location_, patient()))) {
  const auto worker = WorkerId::parse("load").value();
  must(store_->ownership().enroll(
      {.id = worker, .host = "here", .pid = 1, .lease_time = std::chrono::hours(1)}));
  for (int i = 0; i < sessions; ++i) {
    lines_.push_back(std::make_unique<Line>());
    lines_.back()->session = SessionId::parse(fmt::format("session {}", i)).value();
    lines_.back()->calls = i % 2 == 0 ? Calls::one : Calls::none;
    must(store_->sessions().create({.id = lines_.back()->session}));
  }
  for (const auto& line : lines_) threads_.emplace_back([this, &line] { run(*line); });
}

PgLoad::~PgLoad() { is_over_ = true; }

void PgLoad::run(Line& line) {
  const auto lease = store_->ownership().acquire(line.session, WorkerId::parse("load").value());
  if (!lease) line.wrong = "acquire: " + lease.error().message;
  while (lease && !is_over_) {
    auto receipt = store_->commit(*lease, turn_batch(line.session, line.turns + 1, line.calls));
    if (!receipt) {
      line.wrong =
          fmt::format("commit: {}: {}", to_string(receipt.error().code), receipt.error().message);
      return;
    }
    ++line.turns;
    line.receipts.push_back(*std::move(receipt));
    ++acknowledged_;
  }
}

bool PgLoad::wait_for(int more) {
  const int enough = acknowledged_ + more;
  const Uptime deadline = system_clock().uptime() + std::chrono::minutes(5);
  while (acknowledged_ < enough && system_clock().uptime() < deadline) std::this_thread::yield();
  return acknowledged_ >= enough;
}

std::vector<std::string> PgLoad::finish() {
  is_over_ = true;
  threads_.clear();
  std::vector<std::string> faults;
  const auto store = must(open_store(location_, patient()));
  for (const auto& line : lines_) {
    const std::string fault = judge(*store, *line);
    if (!fault.empty()) faults.push_back(line->session.text() + ": " + fault);
  }
  const auto report = store->upkeep().check();
  if (!report) {
    faults.push_back("check: " + report.error().message);
  } else {
    for (const Damage& damage : report->damage) faults.push_back("check: " + damage.what);
  }
  return faults;
}

std::string PgLoad::judge(Store& store, const Line& line) const {
  if (!line.wrong.empty()) return line.wrong;
  for (const Receipt& receipt : line.receipts) {
    const auto found = store.lookup().find_receipt(line.session, receipt.batch);
    if (!found || *found != receipt) {
      return fmt::format("{} was acknowledged, and is not there as it was", receipt.batch.text());
    }
  }
  return find_wrong_turn(store, line.session, line.turns, line.calls);
}

}  // namespace perdure
