// SIGKILL at random moments under load: two processes commit to several sessions each
// in one store. One dies; the other and a fresh one take up its sessions at once.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <sstream>

#include "contract/backends.hpp"
#include "contract/describe.hpp"
#include "crash/child_process.hpp"
#include "crash/load.hpp"
#include "crash/scale.hpp"
#include "crash/stored_file.hpp"
#include "perdure/store/store.hpp"
#include "store/api/lookup.hpp"

namespace perdure {
namespace {

// What the writers said of all sessions, and whether they contradicted each other.
class Record {
 public:
  void hear(const std::string& line) {
    std::istringstream words(line);
    std::string kind;
    std::string session;
    std::uint64_t number = 0;
    words >> kind >> session >> number;
    if (kind == "lease") {
      if (number <= fences_[session]) faults_ += "a fence that is not higher: " + line + "\n";
      fences_[session] = number;
    } else if (kind == "ack") {
      std::string receipt;
      std::getline(words, receipt);
      ++acks_;
      const auto [known, is_new] = receipts_[session].emplace(number, receipt);
      if (!is_new && known->second != receipt) faults_ += "another receipt: " + line + "\n";
    } else {
      faults_ += line + "\n";
    }
  }

  [[nodiscard]] const std::string& faults() const { return faults_; }
  [[nodiscard]] std::size_t acks() const { return acks_; }
  [[nodiscard]] const std::map<Version, std::string>& receipts(const std::string& session) {
    return receipts_[session];
  }

 private:
  std::map<std::string, std::uint64_t> fences_;
  std::map<std::string, std::map<Version, std::string>> receipts_;
  std::size_t acks_ = 0;
  std::string faults_;
};

class Writer {
 public:
  Writer(const std::string& location, const std::string& worker)
      : process_("crash_loader", {location, worker}) {}

  void take(const std::string& session) {
    sessions_.insert(session);
    process_.tell("take " + session);
  }

  /// Listens until `acks` more were heard; false if the writer said no more.
  bool hear(Record& record, std::size_t acks) {
    const std::size_t enough = record.acks() + acks;
    while (record.acks() < enough) {
      const auto line = process_.read_line();
      if (!line) return false;
      record.hear(*line);
    }
    return true;
  }

  /// Listens to what it says until it is silent for that long.
  void hear_until_silent(Record& record, std::chrono::milliseconds silence, std::size_t lines_max) {
    for (std::size_t i = 0; i < lines_max; ++i) {
      const auto line = process_.read_line(silence);
      if (!line) return;
      record.hear(*line);
    }
  }

  /// What it had said before it died counts.
  Ending kill(Record& record) {
    process_.kill();
    for (const std::string& line : process_.read_to_end()) record.hear(line);
    return process_.wait();
  }

  [[nodiscard]] const std::set<std::string>& sessions() const { return sessions_; }

 private:
  ChildProcess process_;
  std::set<std::string> sessions_;
};

std::string find_fault(Store& store, const std::string& name,
                       const std::map<Version, std::string>& receipts) {
  const auto id = SessionId::parse(name).value();
  const auto session = store.sessions().read(id);
  if (!session) return session.error().message;
  const Version acknowledged = receipts.empty() ? 0 : receipts.rbegin()->first;
  if (session->version < acknowledged || session->version > acknowledged + 1) {
    return fmt::format("{} turns were acknowledged, {} are there", acknowledged, session->version);
  }
  for (const auto& [turn, said] : receipts) {
    const auto stored = store.lookup().find_receipt(id, turn_batch(id, turn).id);
    if (!stored || !*stored || " " + describe(**stored) != said) {
      return fmt::format("turn {} was acknowledged as{}, stored is {}", turn, said,
                         describe(stored));
    }
  }
  return find_wrong_turn(store, id, session->version);
}

class UnderLoad : public testing::TestWithParam<Backend> {
 protected:
  [[nodiscard]] static int rounds() {
    return scale().rounds.value_or(GetParam().home == Home::file ? 40 : 15);
  }
};

TEST_P(UnderLoad, SigkillAtRandomMomentsLosesDoublesAndReordersNothing) {
  std::cout << "seed " << scale().seed << " (crash_test --seed=N repeats its choices)\n";
  std::mt19937_64 chance(scale().seed);
  const StorePlace home(GetParam());
  const std::string location = home.location();
  Record record;
  std::vector<std::unique_ptr<Writer>> writers;
  for (const char* name : {"a", "b"}) {
    writers.push_back(std::make_unique<Writer>(location, name));
    for (int i = 0; i < 4; ++i) writers.back()->take(fmt::format("{}{}", name, i));
  }

  for (int round = 0; round < rounds(); ++round) {
    if (chance() % 2 == 0) std::swap(writers[0], writers[1]);
    Writer& victim = *writers[0];
    Writer& survivor = *writers[1];
    ASSERT_TRUE(victim.hear(record, 1 + chance() % 60)) << record.faults();
    survivor.hear_until_silent(record, std::chrono::milliseconds(chance() % 3), 1 + chance() % 60);
    ASSERT_TRUE(victim.kill(record).was_killed()) << record.faults();

    auto fresh = std::make_unique<Writer>(location, fmt::format("fresh {}", round));
    bool to_fresh = true;
    for (const std::string& session : victim.sessions()) {
      (to_fresh ? *fresh : survivor).take(session);
      to_fresh = !to_fresh;
    }
    writers[0] = std::move(fresh);
    ASSERT_EQ(record.faults(), "") << "round " << round;
  }
  for (const auto& writer : writers) EXPECT_TRUE(writer->hear(record, 20)) << record.faults();
  for (const auto& writer : writers) EXPECT_TRUE(writer->kill(record).was_killed());
  EXPECT_EQ(record.faults(), "");

  home.settle();
  auto store = open_store(location).value();
  for (const char* name : {"a0", "a1", "a2", "a3", "b0", "b1", "b2", "b3"}) {
    EXPECT_EQ(find_fault(*store, name, record.receipts(name)), "") << name;
  }
  store.reset();
  EXPECT_EQ(find_damage(location), "");
  tell("crash under load", rounds());
}

INSTANTIATE_TEST_SUITE_P(Every, UnderLoad, testing::ValuesIn(surviving_backends()),
                         [](const auto& named) { return named.param.name; });

}  // namespace
}  // namespace perdure
