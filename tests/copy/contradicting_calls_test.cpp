// A bundle whose ledger says otherwise than the log's own records of its calls is refused; where those
// records are gone for good reasons there is nothing to compare, and it is taken.

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "book/book_session.hpp"
#include "contract/backends.hpp"
#include "dispatch/turns_fixture.hpp"
#include "doubles/false_store.hpp"
#include "doubles/must.hpp"
#include "doubles/temp_folder.hpp"
#include "perdure/adapters/checkpointer.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/store.hpp"
#include "perdure/store/upkeep.hpp"
#include "store/api/bundle.hpp"
#include "store/api/transfer.hpp"

namespace perdure {
namespace {

using testing::HasSubstr;

/// What an import says of the sessions of a store whose facts are changed so; empty: it took them.
class Refusals {
 public:
  explicit Refusals(Store& store) : store_(store) {}

  std::string of(const FalseStore::Change& change) {
    FalseStore liar(store_);
    liar.on_read(change);
    return of(liar);
  }
  std::string without(const std::function<bool(const Fact&)>& which) {
    FalseStore liar(store_);
    liar.leave_out(which);
    return of(liar);
  }
  std::string of(Store& store) {
    const std::string path = folder_.file(fmt::format("bundle {}", ++bundles_));
    must(export_sessions(store, path, {.with_damage = true}));
    const auto to = must(open_store("memory:"));
    const auto imported = import_bundle(*to, path);
    if (imported) return {};
    EXPECT_EQ(imported.error().code, ErrorCode::corrupted);
    return imported.error().message;
  }

 private:
  Store& store_;
  const TempFolder folder_ = TempFolder::in_memory();
  int bundles_ = 0;
};

FalseStore::Change on_call_fact(CallState state, const std::function<void(Call&)>& change) {
  return [=](Fact& fact) {
    auto* call = std::get_if<CallFact>(&fact);
    if (call != nullptr && call->call.state == state) change(call->call);
  };
}

class ContradictingCalls : public TurnsTest {
 protected:
  // One call each that succeeded, failed, was denied, is in doubt, and was not begun.
  ContradictingCalls() {
    behaviour["fail"] = [](const CallContext&) { return Failed{"no"}; };
    behaviour["lose"] = [](const CallContext&) { return Doubtful{"no answer"}; };
    begin({tool("pay"), tool("fail"), tool("lose"), tool("later")});
    must(session->record_response(asks_for(
        {{"pay", "{}"}, {"fail", "{}"}, {"none", "{}"}, {"lose", "{}"}, {"later", "{}"}})));
    must(session->run_calls());
    leave();
  }

  void leave() {
    session.reset();
    runtime.reset();
  }

  Refusals& refusal() {
    if (!refusals_) refusals_.emplace(*store);
    return *refusals_;
  }

 private:
  std::optional<Refusals> refusals_;
};

TEST_P(ContradictingCalls, ThatDoNotAreTaken) {
  EXPECT_EQ(refusal().of(*store), "");
  // One is under way, its process gone.
  restart();
  Session other = must(runtime->create());
  must(other.record_request({}, user_says("go")));
  must(other.record_response(asks_for({{"pay", "{}"}})));
  must(other.close());
  leave();
  EXPECT_EQ(refusal().of(*store), "");
  EXPECT_THAT(
      refusal().of(on_call_fact(CallState::dispatched, [](Call& call) { call.attempts += 1; })),
      HasSubstr("has 2 attempts, and its log has 1"));
}

TEST_P(ContradictingCalls, ALargeResultIsNoContradiction) {
  restart();
  behaviour["pay"] = [](const CallContext&) {
    return Succeeded{.content = std::string(3U << 20U, 'x')};
  };
  Session other = must(runtime->create());
  must(other.record_request({}, user_says("go")));
  must(other.record_response(asks_for({{"pay", "{}"}})));
  must(other.run_calls());
  must(other.close());
  leave();
  EXPECT_EQ(refusal().of(*store), "");
}

TEST_P(ContradictingCalls, OfAnotherStateThanTheirResults) {
  const auto open_again = [](Call& call) {
    call.state = CallState::dispatched;
    call.result.reset();
    call.settled_at.reset();
  };
  EXPECT_THAT(refusal().of(on_call_fact(CallState::succeeded, open_again)),
              HasSubstr("is dispatched, and its result in the log says succeeded"));
  EXPECT_THAT(refusal().of(on_call_fact(CallState::failed,
                                        [&](Call& call) {
                                          open_again(call);
                                          call.failures = 0;
                                        })),
              HasSubstr("is dispatched, and its result in the log says failed"));
  EXPECT_THAT(refusal().of(on_call_fact(CallState::failed,
                                        [](Call& call) {
                                          call.state = CallState::succeeded;
                                          call.failures = 0;
                                        })),
              HasSubstr("is succeeded, and its result in the log says failed"));
  EXPECT_THAT(refusal().of(on_call_fact(CallState::denied,
                                        [](Call& call) { call.state = CallState::cancelled; })),
              HasSubstr("is cancelled, and its result in the log says denied"));
}

TEST_P(ContradictingCalls, WithoutTheirResult) {
  EXPECT_THAT(
      refusal().of(on_call_fact(CallState::succeeded, [](Call& call) { call.result.reset(); })),
      HasSubstr("is succeeded without a result"));
  EXPECT_THAT(refusal().of(on_call_fact(CallState::succeeded,
                                        [](Call& call) { *call.result = call.position; })),
              HasSubstr("where another entry is"));
}

TEST_P(ContradictingCalls, OfAnotherStateThanTheirAttempts) {
  EXPECT_THAT(
      refusal().of(on_call_fact(CallState::succeeded, [](Call& call) { call.attempts += 1; })),
      HasSubstr("has 2 attempts, and its log has 1"));
  FalseStore::Change under_way = on_call_fact(CallState::in_doubt, [](Call& call) {
    call.state = CallState::dispatched;
    call.settled_at.reset();
  });
  EXPECT_THAT(refusal().of([&](Fact& fact) {
    under_way(fact);
    auto* one = std::get_if<SessionFact>(&fact);
    if (one != nullptr && one->row) one->row->summary.attention = 0;
  }),
              HasSubstr("is dispatched, and its log says that it is in doubt"));
}

TEST_P(ContradictingCalls, OfOtherWordsThanTheirIntents) {
  EXPECT_THAT(
      refusal().of(on_call_fact(CallState::succeeded, [](Call& call) { call.tool = "later"; })),
      HasSubstr("is of the tool later, and its intent is of pay"));
  EXPECT_THAT(
      refusal().of(on_call_fact(CallState::intended, [](Call& call) { call.provider_id = "c1"; })),
      HasSubstr("has another provider's id than its intent"));
  EXPECT_THAT(refusal().of(on_call_fact(CallState::intended, [](Call& call) { call.args -= 1; })),
              HasSubstr("and its intent says"));
}

TEST_P(ContradictingCalls, ThatAreMissingOrThereTwice) {
  EXPECT_THAT(refusal().without([](const Fact& fact) {
    const auto* call = std::get_if<CallFact>(&fact);
    return call != nullptr && call->call.state == CallState::failed;
  }),
              HasSubstr("which its ledger does not have"));
  std::optional<Call> first;
  EXPECT_NE(refusal().of([&](Fact& fact) {
    auto* call = std::get_if<CallFact>(&fact);
    if (call == nullptr) return;
    if (!first) first = call->call;
    if (call->call.state == CallState::failed) call->call = *first;
  }),
            "");
  // A row of its own, beside an entry that is no intent.
  EXPECT_THAT(
      refusal().of(on_call_fact(CallState::intended, [](Call& call) { call.position += 1; })),
      testing::AnyOf(HasSubstr("has another entry where its intent should be"),
                     HasSubstr("was not intended")));
}

TEST_P(ContradictingCalls, AreNotThoseWhoseRecordsWereErasedOrPruned) {
  const Position paid = first_call();
  const Call row = must(store->ledger().read(id, paid));
  for (const Position gone : {paid, row.result.value()}) {
    must(store->upkeep().erase(id, {gone}));
    EXPECT_EQ(refusal().of(*store), "") << gone;
  }
  must(store->upkeep().prune(id, {.last = 0}));
  EXPECT_EQ(refusal().of(*store), "");
}

INSTANTIATE_TEST_SUITE_P(InMemory, ContradictingCalls, testing::Values(every_backend().front()));

class ContradictingBook : public BookSession {};

TEST_P(ContradictingBook, IsRefusedWhereItsResultsAreOthersThanItsLedgers) {
  must(book->start_session(session));
  complete(email("ann"), "sent");
  const Position failed = run(email("ben"));
  must(book->record_tool_call_result(session, failed, Failed{"no"}));
  run(email("cem"));
  book.reset();
  Refusals refusal(*store);

  EXPECT_EQ(refusal.of(*store), "");
  EXPECT_THAT(refusal.of(on_call_fact(CallState::succeeded,
                                      [](Call& call) {
                                        call.state = CallState::dispatched;
                                        call.result.reset();
                                        call.settled_at.reset();
                                      })),
              HasSubstr("its log has the result of a call"));
  EXPECT_THAT(refusal.of(on_call_fact(CallState::failed,
                                      [](Call& call) {
                                        call.state = CallState::succeeded;
                                        call.failures = 0;
                                      })),
              HasSubstr("its log has another entry at position"));
  EXPECT_THAT(
      refusal.of(on_call_fact(CallState::succeeded, [](Call& call) { call.result.reset(); })),
      HasSubstr("is succeeded without a result"));
}

INSTANTIATE_TEST_SUITE_P(InMemory, ContradictingBook, testing::Values(every_backend().front()));

}  // namespace
}  // namespace perdure
