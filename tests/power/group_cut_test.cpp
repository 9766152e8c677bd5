// The power goes while several threads commit in groups, and while the WAL is written back
// and begun anew again and again; some commits are to be synced later.
//
// Every commit of a group shares one sync, so the rules are about the order of events: a
// commit whose `now` was acknowledged is there (Durability::full), with all that was acknowledged before it was
// asked for; and whatever is there, all that was acknowledged before it is there too.

#include <algorithm>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

#include "contract/describe.hpp"
#include "crash/scale.hpp"
#include "crash/stored_file.hpp"
#include "doubles/committer.hpp"
#include "doubles/power_vfs.hpp"
#include "perdure/store/store.hpp"
#include "power/sweep.hpp"
#include "store/api/lookup.hpp"
#include "store/sqlite/engine/lock_file.hpp"
#include "store/sqlite/sqlite_store.hpp"

namespace perdure {
namespace {

constexpr std::size_t sessions = 4;

SessionId session_of(std::size_t number) {
  return SessionId::parse(fmt::format("s{}", number)).value();
}

NewEntry said(std::string text) {
  return {.channel = "transcript",
          .kind = "turn",
          .fold = Fold::append,
          .body = Body::from_text(Json(std::move(text)).text()),
          .tally = {.turns = 1},
          .at = {}};
}

// A turn follows from its session and number: large enough that a few dozen fill the WAL.
Batch turn_of(std::size_t session, Version turn, Sync sync) {
  Batch batch;
  batch.id = BatchId::parse(fmt::format("{} {}", session, turn)).value();
  batch.expected_head = 2 * (turn - 1);
  batch.entries = {said(fmt::format("{} asks {}", session, turn)),
                   said(fmt::format("{} says {}: {}", session, turn,
                                    std::string(turn % 2 == 0 ? 200 : 30'000,
                                                static_cast<char>('a' + turn % 26))))};
  batch.checkpoint = NewCheckpoint{.reason = "turn", .label = {}, .metadata = "{}"};
  batch.sync = sync;
  return batch;
}

// A commit and when it was asked for and answered, in calls made to the files and in the
// order of all such events.
struct Commit {
  std::size_t session = 0;
  Version turn = 0;
  Sync sync = Sync::now;
  std::size_t asked_order = 0;
  std::size_t asked_calls = 0;
  std::size_t answered_order = 0;
  std::size_t answered_calls = 0;
  std::string receipt;
};

class GroupCut : public testing::TestWithParam<Durability> {
 protected:
  GroupCut() {
    OpenOptions options;
    options.clock = &clock_;
    options.durability = GetParam();
    store_ =
        sqlite::open_sqlite({.path = made_.file("store.db"), .open = options, .vfs = vfs_->name()})
            .value();
    const auto worker = WorkerId::parse("first").value();
    EXPECT_TRUE(store_->ownership().enroll({.id = worker, .host = "here", .pid = 1}));
    for (std::size_t i = 0; i < sessions; ++i) {
      EXPECT_TRUE(store_->sessions().create({.id = session_of(i)}));
      leases_.push_back(store_->ownership().acquire(session_of(i), worker).value());
    }
    EXPECT_TRUE(store_->sync());
    begin_ = vfs_->calls();
  }

  Commit ask(std::size_t session, Sync sync) {
    return {.session = session,
            .turn = ++turns_[session],
            .sync = sync,
            .asked_order = ++order_,
            .asked_calls = vfs_->calls(),
            .receipt = {}};
  }
  void answer(Commit commit, const Result<Receipt>& receipt) {
    ASSERT_TRUE(receipt) << receipt.error().message;
    commit.answered_order = ++order_;
    commit.answered_calls = vfs_->calls();
    commit.receipt = describe(*receipt);
    commits_.push_back(std::move(commit));
  }

  void commit_alone(std::size_t session, Sync sync) {
    const Commit commit = ask(session, sync);
    answer(commit, store_->commit(leases_[session], turn_of(session, commit.turn, sync)));
  }

  // One leads, alone; the others become one group behind it.
  void commit_together(Sync sync) {
    auto turn = sqlite::LockFile::open(made_.file("store.db") + "-lock").value();
    ASSERT_TRUE(turn.take_turn(Duration{0}));
    const int asked = clock_.asked();
    Committers committers;
    std::vector<Commit> asked_for;
    for (std::size_t i = 0; i < sessions; ++i) {
      asked_for.push_back(ask(i, sync));
      committers.push_back(
          std::make_unique<Committer>(*store_, leases_[i], turn_of(i, asked_for[i].turn, sync)));
      ASSERT_TRUE(wait_until_queued(committers, clock_, asked + static_cast<int>(i + 1)));
    }
    turn.end_turn();
    for (std::size_t i = 0; i < sessions; ++i) answer(asked_for[i], committers[i]->finish());
  }

  std::vector<DiskCall> finish() {
    store_.reset();
    auto calls = vfs_->take();
    vfs_.reset();
    return calls;
  }

  [[nodiscard]] std::string find_fault(std::size_t cut, const std::string& path) const;
  [[nodiscard]] std::string find_lost(Store& store, std::size_t cut,
                                      const std::vector<Version>& versions) const;

  const TempFolder made_ = TempFolder::in_memory();
  AskedClock clock_;
  std::unique_ptr<PowerVfs> vfs_ = std::make_unique<PowerVfs>("power", made_.path().string());
  std::unique_ptr<Store> store_;
  std::vector<Lease> leases_;
  std::vector<Version> turns_ = std::vector<Version>(sessions);
  std::vector<Commit> commits_;
  std::size_t order_ = 0;
  std::size_t begin_ = 0;
};

std::string find_wrong_entry(Store& store, const Commit& commit) {
  const auto receipt = store.lookup().find_receipt(session_of(commit.session),
                                                   turn_of(commit.session, commit.turn, {}).id);
  if (!receipt || !*receipt || describe(**receipt) != commit.receipt) return "another receipt";
  LogQuery query;
  query.as_of = Point::version(commit.turn);
  query.order = Order::newest_first;
  query.limit = 1;
  const auto entries = store.log().read(session_of(commit.session), query);
  const Batch batch = turn_of(commit.session, commit.turn, {});
  const bool right = entries && entries->size() == 1 &&
                     entries->front().body == batch.entries.back().body &&
                     entries->front().condition == Condition::intact;
  return right ? "" : "another body";
}

// How many turns each session has.
Result<std::vector<Version>> read_versions(Store& store, bool all_there) {
  std::vector<Version> versions;
  for (std::size_t i = 0; i < sessions; ++i) {
    auto session = store.sessions().read(session_of(i));
    // Made, but not on disk: as good as a session without turns.
    if (!session && session.error().code == ErrorCode::not_found && !all_there) {
      versions.push_back(0);
      continue;
    }
    if (!session) return forward(session);
    if (session->next != 2 * session->version + 1) {
      return fail(ErrorCode::corrupted, "entries without a turn");
    }
    versions.push_back(session->version);
  }
  return versions;
}

std::string GroupCut::find_lost(Store& store, std::size_t cut,
                                const std::vector<Version>& versions) const {
  const auto is_there = [&](const Commit& c) { return c.turn <= versions[c.session]; };
  // The last commit that everything acknowledged before must be there with.
  std::size_t rests_on = 0;
  for (const Commit& commit : commits_) {
    const bool promised =
        GetParam() == Durability::full && commit.sync == Sync::now && commit.answered_calls <= cut;
    if (promised && !is_there(commit)) return "synced, but lost: " + commit.receipt;
    if (is_there(commit)) rests_on = std::max(rests_on, commit.asked_order);
  }
  for (const Commit& commit : commits_) {
    const bool before = commit.answered_order < rests_on;
    if (before && !is_there(commit)) return "what came after it is there: " + commit.receipt;
    if (!is_there(commit)) continue;
    if (commit.asked_calls > cut) return "nobody asked for it yet: " + commit.receipt;
    if (auto wrong = find_wrong_entry(store, commit); !wrong.empty()) return wrong;
  }
  return {};
}

// Repeats the last turn of each session, and does one more.
std::string go_on(Store& store, const std::vector<Version>& versions) {
  const auto worker = WorkerId::parse("successor").value();
  const auto enrolled = store.ownership().enroll({.id = worker, .host = "here", .pid = 1});
  if (!enrolled) return enrolled.error().message;
  for (std::size_t i = 0; i < sessions; ++i) {
    (void)store.sessions().create({.id = session_of(i)});
    const auto lease = store.ownership().acquire(session_of(i), worker);
    if (!lease) return lease.error().message;
    for (Version turn = std::max<Version>(versions[i], 1); turn <= versions[i] + 1; ++turn) {
      const auto receipt = store.commit(*lease, turn_of(i, turn, Sync::now));
      if (!receipt) return receipt.error().message;
    }
    if (store.sessions().read(session_of(i))->version != versions[i] + 1) return "a turn twice";
  }
  return {};
}

std::string GroupCut::find_fault(std::size_t cut, const std::string& path) const {
  auto store = open_store(path);
  if (!store) return "the store does not open: " + store.error().message;
  const auto versions = read_versions(**store, GetParam() == Durability::full);
  if (!versions) return versions.error().message;
  if (auto lost = find_lost(**store, cut, *versions); !lost.empty()) return lost;
  if (auto fault = go_on(**store, *versions); !fault.empty()) return fault;
  store->reset();
  return find_damage(path);
}

// A WAL is begun by its header, at its beginning.
std::ptrdiff_t wals_begun(const std::vector<DiskCall>& calls) {
  return std::ranges::count_if(calls, [](const DiskCall& call) {
    return call.kind == DiskCall::Kind::write && call.offset == 0 && call.bytes.size() == 32;
  });
}

TEST_P(GroupCut, LosesNoCommitThatAnybodyWasToldOf) {
  for (int round = 0; round < 36; ++round) {
    const Sync sync = round % 3 == 2 ? Sync::later : Sync::now;
    commit_together(sync);
    commit_alone(static_cast<std::size_t>(round) % sessions, Sync::later);
    commit_alone(static_cast<std::size_t>(round + 1) % sessions, Sync::later);
    ASSERT_FALSE(HasFailure());
  }
  const std::vector<DiskCall> calls = finish();
  EXPECT_GE(wals_begun(calls), 4);

  const Cuts cuts{.begin = begin_,
                  .stride = scale().full ? std::size_t{1} : 61,
                  .first = scale().seed,
                  .at_syncs = true,
                  .disks = scale().rounds.value_or(1)};
  const auto judge = [&](std::size_t cut, const TempFolder& left, const std::string& where) {
    EXPECT_EQ(find_fault(cut, left.file("store.db")), "") << where;
  };
  const Swept swept = sweep(calls, cuts, judge);
  swept.print(GetParam() == Durability::full ? "groups" : "groups_process");
  EXPECT_GT(swept.cuts, 30U);
}

INSTANTIATE_TEST_SUITE_P(Every, GroupCut, testing::Values(Durability::full, Durability::process),
                         [](const auto& that) {
                           return that.param == Durability::full ? "full" : "process";
                         });

}  // namespace
}  // namespace perdure
