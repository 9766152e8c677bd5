// Values of enumerations that none of them names, as a cast or a binding makes them: refused
// everywhere, and nothing is written.

#include "contract/store_contract.hpp"
#include "store/api/lookup.hpp"

namespace perdure {
namespace {

template <class Enum>
Enum unknown() {
  return static_cast<Enum>(99);
}

class HostileEnums : public StoreContract {
 protected:
  HostileEnums() { say(lease, "one"); }

  void expect_refused(const Batch& batch) {
    const auto committed = store->commit(lease, batch);
    EXPECT_EQ(code_of(committed), ErrorCode::invalid_argument);
    EXPECT_EQ(row(session), before);
    EXPECT_EQ(texts(session), std::vector<std::string>{"one"});
    EXPECT_FALSE(must(store->lookup().find_receipt(session, batch.id)));
  }

  const SessionId session = create("session");
  const Lease lease = own(session);
  SessionSummary before;

  void SetUp() override { before = row(session); }
};

INSTANTIATE_TEST_SUITE_P(EveryBackend, HostileEnums, testing::ValuesIn(every_form()), name_of);

TEST_P(HostileEnums, OfABatchAreRefused) {
  Batch folded = batch_of(session, {message("two")});
  folded.entries.front().fold = unknown<Fold>();
  expect_refused(folded);

  Batch synced = batch_of(session, {message("two")});
  synced.sync = unknown<Sync>();
  expect_refused(synced);

  Batch changed = batch_of(session, {message("two")});
  changed.status = StatusChange{.status = unknown<Status>()};
  expect_refused(changed);

  Batch children = batch_of(session, {message("two")});
  children.children = {{.id = session_id("child"), .status = unknown<Status>()}};
  expect_refused(children);
  EXPECT_EQ(code_of(store->sessions().read(session_id("child"))), ErrorCode::not_found);
}

TEST_P(HostileEnums, OfACallAreRefused) {
  Batch intended = batch_of(session, {message("two")});
  intended.calls = {Intend{.call = 2, .args = 2, .tool = "send", .effect = unknown<EffectClass>()}};
  expect_refused(intended);

  Batch settled = batch_of(session, {message("two")});
  settled.calls = {Intend{.call = 2, .args = 2, .tool = "send"}, Dispatch{.call = 2},
                   Settle{.call = 2, .state = unknown<CallState>()}};
  expect_refused(settled);
}

TEST_P(HostileEnums, OfANewSessionAreRefused) {
  const NewSession status{.id = session_id("new"), .status = unknown<Status>()};
  EXPECT_EQ(code_of(store->sessions().create(status)), ErrorCode::invalid_argument);

  NewSession lineage{.id = session_id("new")};
  lineage.origin = NewSession::Origin{.session = session, .lineage = unknown<Lineage>()};
  EXPECT_EQ(code_of(store->sessions().create(lineage)), ErrorCode::invalid_argument);

  EXPECT_EQ(code_of(store->sessions().read(session_id("new"))), ErrorCode::not_found);
}

TEST_P(HostileEnums, OfAQueryAreRefused) {
  const auto bad = ErrorCode::invalid_argument;
  EXPECT_EQ(code_of(store->sessions().list({.statuses = {Status::active, unknown<Status>()}})),
            bad);
  EXPECT_EQ(code_of(store->sessions().list({.sort = unknown<SessionSort>()})), bad);
  EXPECT_EQ(code_of(store->log().read(session, {.order = unknown<Order>()})), bad);
  EXPECT_EQ(code_of(store->ledger().list({.states = {unknown<CallState>()}})), bad);
}

TEST_P(HostileEnums, OfTheOptionsAreRefused) {
  OpenOptions options;
  options.durability = unknown<Durability>();
  EXPECT_EQ(code_of(open(options)), ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace perdure
