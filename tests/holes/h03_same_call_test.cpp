// Holes 3 to 6 and 14: which calls are one operation, who runs it, and which calls are written
// down.

#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "contract/backends.hpp"
#include "doubles/must.hpp"
#include "holes/hole_session.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"

namespace perdure {
namespace {

class Hole03 : public HoleSession {};
class Hole04 : public HoleSession {};
class Hole05 : public HoleSession {};
class Hole06 : public HoleSession {};
class Hole14 : public HoleSession {};

TEST_P(Hole03, WritingTheSameAgainWritesItAgain) {
  begin({tool("write", {.write = true})});
  std::string file;
  behaviour["write"] = [&](const CallContext& call) -> ToolOutcome {
    file = call.args.text();
    return Succeeded{};
  };
  for (const char* text : {R"({"v":1})", R"({"v":2})", R"({"v":1})"}) turn({{"write", text}});
  EXPECT_EQ(runs("write"), 3);
  EXPECT_EQ(file, R"({"v":1})");
}

TEST_P(Hole04, AProvidersIdThatComesAgainMixesNothingUp) {
  Tool send = tool("send");
  send.repeat = Repeat::once_per_session;
  begin({send});
  behaviour["send"] = [](const CallContext& call) -> ToolOutcome {
    return Succeeded{"sent " + call.args.text()};
  };
  turn({{"send", R"({"to":"ann"})"}});
  turn({{"send", R"({"to":"bob"})"}});
  EXPECT_EQ(last_result(), R"(sent {"to":"bob"})");

  turn({{"send", R"({"to":"ann"})"}});

  EXPECT_EQ(last_result(), R"(sent {"to":"ann"})");
  EXPECT_EQ(runs("send"), 2);
}

TEST_P(Hole05, OfTwoWhoBeginOneOperationOneActsAndTheOtherWaitsForIt) {
  Tool pay = tool("pay");
  pay.repeat = Repeat::once_per_store;
  begin({pay});
  const auto other = start();
  Session second = must(other->create());
  must(second.record_request({}, user_says("go")));
  request({{"pay", "{}"}});
  must(second.record_response(asks_for({{"pay", "{}"}})));

  const CallsReport early = must(second.run_calls());
  must(session->run_calls());
  const CallsReport later = must(second.run_calls());

  ASSERT_TRUE(early.waiting);
  EXPECT_EQ(early.waiting->what, Waiting::For::time);
  EXPECT_EQ(later.replayed, 1U);
  EXPECT_EQ(runs("pay"), 1);
}

TEST_P(Hole06, EveryDispatchIsInTheLedgerAndWhatDeclaresNothingIsUnsafe) {
  Tool shell = tool("shell");
  shell.side_effects.reset();
  begin({tool("look", {.read = true, .network = true}), shell});
  turn({{"look", "{}"}, {"shell", "{}"}});

  const std::vector<Call> calls = ledger();

  ASSERT_EQ(calls.size(), 2U);
  EXPECT_EQ(calls[0].attempts, 1);
  EXPECT_EQ(calls[0].effect, EffectClass::read_only);
  EXPECT_EQ(calls[1].attempts, 1);
  EXPECT_EQ(calls[1].effect, EffectClass::unsafe);
}

TEST_P(Hole14, FieldsOfAKeyDoNotRunTogether) {
  Tool one = tool("pay1");
  Tool other = tool("pay");
  for (Tool* pay : {&one, &other}) {
    pay->repeat = Repeat::once_per_store;
    pay->business_key = "/order";
  }
  begin({one, other});
  turn({{"pay1", R"({"order":2})"}, {"pay", R"({"order":12})"}, {"pay", R"({"order":12.0})"}});
  EXPECT_EQ(runs("pay1"), 1);
  EXPECT_EQ(runs("pay"), 1) << "12 and 12.0 are one order";
}

INSTANTIATE_TEST_SUITE_P(EveryBackend, Hole03, testing::ValuesIn(every_backend()), backend_name);
INSTANTIATE_TEST_SUITE_P(EveryBackend, Hole04, testing::ValuesIn(every_backend()), backend_name);
INSTANTIATE_TEST_SUITE_P(EveryBackend, Hole05, testing::ValuesIn(every_backend()), backend_name);
INSTANTIATE_TEST_SUITE_P(EveryBackend, Hole06, testing::ValuesIn(every_backend()), backend_name);
INSTANTIATE_TEST_SUITE_P(EveryBackend, Hole14, testing::ValuesIn(every_backend()), backend_name);

}  // namespace
}  // namespace perdure
