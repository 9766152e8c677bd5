// Forks, branches and reads as of any point, against the naive model, for every backend.

#include <algorithm>
#include <gtest/gtest.h>

#include "contract/backends.hpp"
#include "contract/describe.hpp"
#include "doubles/counting_ids.hpp"
#include "doubles/fake_clock.hpp"
#include "doubles/must.hpp"
#include "doubles/temp_folder.hpp"
#include "perdure/store/store.hpp"
#include "property/dice.hpp"
#include "property/history_model.hpp"
#include "property/seeds.hpp"
#include "store/api/lookup.hpp"

namespace perdure {
namespace {

constexpr std::size_t history_runs = 25;
constexpr int history_steps = 40;
const std::vector<std::string> channels{"transcript", "plan", "empty"};

enum class Memory : std::uint8_t { keeps_all, forgets };

/// A random tree of sessions, grown in a store and in the model at the same time.
class Tree {
 public:
  Tree(std::uint64_t seed, const Backend& backend, Memory memory = Memory::keeps_all)
      : dice_(seed), place_(backend, memory_folder()), memory_(memory) {
    const OpenOptions options{.durability = Durability::process, .clock = &clock_, .ids = &ids_};
    store_ = must(open_store(place_.location(), options));
    worker_ = WorkerId::parse("worker").value();
    EXPECT_TRUE(
        store_->ownership().enroll({.id = worker_, .host = "", .lease_time = Duration(1'000'000)}));
    create();
  }

  void grow() {
    for (int i = 0; i < history_steps; ++i) {
      clock_.advance(Duration(1));
      if (dice_.chance(4)) create();
      if (dice_.chance(15)) fork();
      commit();
      if (memory_ == Memory::forgets && dice_.chance(25)) forget();
    }
  }

  void check() {
    for (const ModelSession& session : model_.sessions()) {
      check_row(session);
      check_point(session, Point::head());
      for (Version version = 0; version <= session.versions.size() + 1; ++version) {
        check_point(session, Point::version(version));
      }
      for (Position position = 0; position <= session.next; ++position) {
        check_point(session, Point::position(position));
      }
      if (testing::Test::HasFailure()) return;
    }
  }

 private:
  SessionId fresh() { return SessionId::parse("s" + std::to_string(++sessions_)).value(); }

  const ModelSession& some() { return dice_.pick(model_.sessions()); }

  /// One that exists.
  Point some_point(const ModelSession& session) {
    if (dice_.chance(20)) return Point::head();
    if (!session.versions.empty() && dice_.chance(30)) {
      const Version version = dice_.between(1, session.versions.size());
      return session.forgotten.contains(version) ? Point::head() : Point::version(version);
    }
    auto chosen = session.positions.begin();
    std::advance(chosen, static_cast<std::ptrdiff_t>(dice_.below(session.positions.size())));
    const Point point = Point::position(chosen->first);
    const bool is_gone = memory_ == Memory::forgets && !store_->lookup().line(session.id, point);
    return is_gone ? Point::head() : point;
  }

  void forget() {
    const ModelSession& session = some();
    if (model_.sessions().size() > 2 && dice_.chance(15)) {
      must(store_->ownership().release(leases_.at(session.id)));
      must(store_->upkeep().remove(session.id));
      model_.remove(SessionId(session.id));
    } else if (!session.versions.empty() && dice_.chance(50)) {
      const Version version = dice_.between(1, session.versions.size());
      if (session.forgotten.contains(version)) return;
      must(store_->upkeep().forget(session.id, version));
      model_.forget(session.id, version);
    } else {
      prune(session, {.last = dice_.below(3), .since = {}, .every = dice_.below(4)});
    }
  }

  void prune(const ModelSession& session, const Keep& keep) {
    must(store_->upkeep().prune(session.id, keep));
    std::uint64_t newer = 0;
    for (Version version = session.versions.size(); version > 0; --version) {
      if (session.forgotten.contains(version)) continue;
      const bool is_kept = newer++ < keep.last || (keep.every != 0 && version % keep.every == 0);
      if (!is_kept) model_.forget(session.id, version);
    }
  }

  void own(const SessionId& id) { leases_[id] = must(store_->ownership().acquire(id, worker_)); }

  void create() {
    const SessionId id = fresh();
    NewSession session;
    session.id = id;
    must(store_->sessions().create(session));
    model_.create(id);
    own(id);
  }

  void fork() {
    const ModelSession& parent = some();
    const Point at = some_point(parent);
    NewSession session;
    session.id = fresh();
    session.origin = NewSession::Origin{.session = parent.id, .at = at};
    must(store_->sessions().create(session));
    model_.fork(session.id, parent.id, at);
    own(session.id);
  }

  void commit() {
    const ModelSession& session = some();
    Batch batch;
    batch.id = BatchId::parse("b" + std::to_string(++batches_)).value();
    batch.expected_head = end_of(session.head);
    if (dice_.chance(25)) batch.branch_from = some_point(session);
    for (std::uint64_t i = dice_.below(4); i > 0; --i) {
      NewEntry entry;
      entry.channel = channels[dice_.below(2)];
      entry.kind = "k";
      entry.fold = dice_.chance(30) ? Fold::replace : Fold::append;
      entry.body = Body::from_text(batch.id.text() + "/" + std::to_string(i));
      entry.tally = {.turns = 1, .cost_micros = static_cast<std::int64_t>(dice_.below(1000))};
      batch.entries.push_back(entry);
    }
    if (dice_.chance(25)) batch.checkpoint.emplace();
    const Receipt receipt = must(store_->commit(leases_.at(session.id), batch));
    model_.commit(session.id, batch, clock_.now());
    EXPECT_EQ(receipt.head, end_of(model_.find(session.id).head));
  }

  void check_row(const ModelSession& session) {
    const SessionSummary row = must(store_->sessions().read(session.id));
    EXPECT_EQ(row.head, end_of(session.head));
    EXPECT_EQ(row.next, session.next);
    EXPECT_EQ(row.version, session.versions.size());
    EXPECT_EQ(row.tally, sum_of(session.head));
    const auto checkpoints =
        must(store_->log().checkpoints(session.id, {.label = {}, .metadata = {}}));
    ASSERT_EQ(checkpoints.size(), session.versions.size() - session.forgotten.size());
    for (const Checkpoint& one : checkpoints) {
      const History& history = session.versions.at(one.version - 1);
      EXPECT_EQ(one.position, end_of(history));
      EXPECT_EQ(one.tally, sum_of(history));
      EXPECT_EQ(one, must(store_->log().read_checkpoint(session.id, one.version)));
    }
  }

  void check_point(const ModelSession& session, Point point) {
    SCOPED_TRACE(session.id.text() + " as of " + describe(point));
    const auto expected = session.at(point);
    LogQuery whole;
    whole.as_of = point;
    auto found = store_->log().read(session.id, whole);
    const auto line = store_->lookup().line(session.id, point);
    const bool may_be_gone =
        memory_ == Memory::forgets && point.kind() == Point::Kind::position && point.number() > 0;
    if (may_be_gone && !found) {
      EXPECT_EQ(found.error().code, ErrorCode::not_found);
      EXPECT_FALSE(line);
      return;
    }
    ASSERT_EQ(found.has_value(), expected.has_value());
    ASSERT_EQ(line.has_value(), expected.has_value());
    if (!expected) {
      EXPECT_EQ(found.error().code, ErrorCode::not_found);
      EXPECT_EQ(line.error().code, ErrorCode::not_found);
      EXPECT_EQ(store_->log().find_value(session.id, "plan", point).error().code,
                ErrorCode::not_found);
      return;
    }
    check_line(*line, *found);
    check_values(session.id, point, *expected);
    if (memory_ == Memory::forgets) return expect_seen(*expected, *found);
    expect_entries(*expected, *found);
    for (int i = 0; i < 3; ++i) check_query(session, point, *expected);
  }

  /// Each segment goes on from the one before it, and the entries run through them in order.
  static void check_line(const std::vector<Segment>& line, const std::vector<Entry>& entries) {
    ASSERT_FALSE(line.empty());
    EXPECT_EQ(line.front().parent, std::nullopt);
    for (std::size_t i = 1; i < line.size(); ++i) EXPECT_EQ(line[i].parent, line[i - 1].id);
    std::size_t at = 0;
    for (const Entry& entry : entries) {
      while (at < line.size() && line[at].id != entry.segment) ++at;
      ASSERT_LT(at, line.size()) << "entry " << entry.position << " is on no segment of the line";
      EXPECT_GE(entry.position, line[at].first);
      const bool is_last = at + 1 == line.size();
      EXPECT_TRUE(is_last || entry.position <= line[at + 1].parent_position) << entry.position;
    }
  }

  static void expect_entries(const History& expected, std::vector<Entry> found) {
    for (Entry& entry : found) entry.segment = 0;
    EXPECT_EQ(found, expected);
  }

  /// Nothing is missing that a fold would look at, and nothing else has come in.
  static void expect_seen(const History& expected, std::vector<Entry> found) {
    for (Entry& entry : found) entry.segment = 0;
    EXPECT_EQ(seen(found), seen(expected));
    EXPECT_TRUE(std::ranges::includes(expected, found, {}, &Entry::position, &Entry::position));
  }

  void check_values(const SessionId& id, Point point, const History& expected) {
    for (const std::string& channel : channels) {
      auto found = must(store_->log().find_value(id, channel, point));
      if (found) found->segment = 0;
      EXPECT_EQ(found, value_of(expected, channel)) << channel;
    }
  }

  void check_query(const ModelSession& session, Point point, const History& expected) {
    LogQuery query;
    query.as_of = point;
    query.from = dice_.between(0, session.next);
    query.to = dice_.chance(50) ? query.to : dice_.between(0, session.next);
    query.channel = dice_.chance(50) ? "" : dice_.pick(channels);
    query.order = dice_.chance(50) ? Order::oldest_first : Order::newest_first;
    query.limit = dice_.chance(50) ? query.limit : dice_.between(1, 5);
    expect_entries(select(expected, query), must(store_->log().read(session.id, query)));
  }

  Dice dice_;
  StorePlace place_;
  FakeClock clock_;
  CountingIds ids_;
  std::unique_ptr<Store> store_;
  WorkerId worker_;
  HistoryModel model_;
  std::map<SessionId, Lease> leases_;
  Memory memory_;
  std::uint64_t batches_ = 0;
  std::uint64_t sessions_ = 0;
};

class HistoryOfEveryBackend : public testing::TestWithParam<Backend> {};

TEST_P(HistoryOfEveryBackend, IsAsTheNaiveModelSaysAtEveryPoint) {
  const auto all = seeds(runs_for(GetParam(), history_runs));
  for (const std::uint64_t seed : all) {
    SCOPED_TRACE(reproduce(seed));
    Tree tree(seed, GetParam());
    tree.grow();
    tree.check();
    if (HasFailure()) return;
  }
  report_held(all.size());
}

TEST_P(HistoryOfEveryBackend, IsTheSameAtEveryKeptPointWhateverIsForgotten) {
  const auto all = seeds(runs_for(GetParam(), 4 * history_runs));
  for (const std::uint64_t seed : all) {
    SCOPED_TRACE(reproduce(seed));
    Tree tree(seed, GetParam(), Memory::forgets);
    tree.grow();
    tree.check();
    if (HasFailure()) return;
  }
  report_held(all.size());
}

INSTANTIATE_TEST_SUITE_P(EveryBackend, HistoryOfEveryBackend, testing::ValuesIn(every_form()),
                         [](const auto& tested) { return tested.param.name; });

}  // namespace
}  // namespace perdure
