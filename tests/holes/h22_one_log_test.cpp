// Holes 12, 22, 24 and 27: the conversation and the calls are one log, and it holds all that was
// said.

#include <cstdint>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "contract/backends.hpp"
#include "doubles/must.hpp"
#include "holes/hole_session.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/store.hpp"
#include "runtime/api/state_details.hpp"

namespace perdure {
namespace {

class Hole12 : public HoleSession {};
class Hole22 : public HoleSession {};
class Hole24 : public HoleSession {};
class Hole27 : public HoleSession {};

TEST_P(Hole12, AResultOfAnyBytesIsKept) {
  const std::string odd("\xff\xfe\0{\"half\": \xc3", 13);
  begin({tool("read", {.read = true})});
  behaviour["read"] = [&](const CallContext&) -> ToolOutcome { return Succeeded{odd}; };
  turn({{"read", "{}"}});
  restart_and_resume();
  EXPECT_EQ(last_result(), odd);
}

TEST_P(Hole22, AnOutcomeAndItsMessageAreOneCommit) {
  begin({tool("one"), tool("two")});
  request({{"one", "{}"}, {"two", "{}"}});
  const std::uint64_t before = store->info().commits;

  must(session->run_calls());

  EXPECT_EQ(store->info().commits, before + 2) << "one outcome each";
  for (const Call& call : ledger()) {
    ASSERT_TRUE(call.result);
    EXPECT_NE(find_message(session->state(), *call.result), nullptr);
  }
}

TEST_P(Hole24, WhatAModelSaysBesideItsCallsIsKept) {
  begin({tool("pay")});
  Message said = asks_for({{"pay", "{}"}});
  said.blocks.insert(said.blocks.begin(),
                     {ReasoningBlock{.text = "she is owed 5",
                                     .metadata = must(RawJson::from_text(R"({"sig" : "x=="})"))},
                      TextBlock{.text = "I pay ann now."}});
  must(session->record_request({}, user_says("go")));
  must(session->record_response(said));
  restart_and_resume();
  EXPECT_EQ(session->state().transcript.at(1).message.blocks, said.blocks);
}

TEST_P(Hole27, AResponseThatWasCutOffIsMarkedAndStartsNothing) {
  begin({tool("pay")});
  Message said = asks_for({{"pay", R"({"to":"a)"}});
  said.is_partial = true;
  must(session->record_request({}, user_says("go")));
  must(session->record_response(said));
  restart_and_resume();

  EXPECT_TRUE(session->state().transcript.at(1).message.is_partial);
  EXPECT_EQ(session->state().transcript.at(1).message.blocks, said.blocks);
  EXPECT_TRUE(ledger().empty());
  EXPECT_TRUE(session->record_request({}, user_says("go on")));
}

INSTANTIATE_TEST_SUITE_P(EveryBackend, Hole12, testing::ValuesIn(every_backend()), backend_name);
INSTANTIATE_TEST_SUITE_P(EveryBackend, Hole22, testing::ValuesIn(every_backend()), backend_name);
INSTANTIATE_TEST_SUITE_P(EveryBackend, Hole24, testing::ValuesIn(every_backend()), backend_name);
INSTANTIATE_TEST_SUITE_P(EveryBackend, Hole27, testing::ValuesIn(every_backend()), backend_name);

}  // namespace
}  // namespace perdure
