// What becomes of a decision: who hears it, which of several stands.

#include <algorithm>
#include <chrono>
#include <fstream>
#include <future>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "doubles/must.hpp"
#include "fixture.hpp"
#include "perdure/core/id.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "runtime/api/state_details.hpp"
#include "shell_fixture.hpp"
#include "store/api/lookup.hpp"

namespace perdure::cli {
namespace {

class DecisionTest : public ShellFixture {};

TEST_F(DecisionTest, ASessionThatWaitedIsTakenUpAgain) {
  fixture.run({"approve", "ses_8e1f"});
  EXPECT_EQ(must(fixture.store().sessions().read(must(SessionId::parse("ses_8e1f00")))).status,
            Status::active);
  const auto due = must(fixture.store().sessions().due(10));
  EXPECT_TRUE(std::ranges::any_of(
      due, [](const SessionSummary& row) { return row.id.text() == "ses_8e1f00"; }));
}

TEST_F(DecisionTest, AnOwnerThatLivesKeepsItsLeaseAndGetsTheLetter) {
  const Said said = fixture.run({"cancel", "ses_9pq4", "--reason", "enough"});
  EXPECT_EQ(said.exit, 0);
  EXPECT_TRUE(said.out.contains("left in its inbox")) << said.out;
  EXPECT_EQ(fixture.running().status(), Status::active);
  EXPECT_EQ(must(fixture.running().take_inbox()), 1U);
  EXPECT_EQ(fixture.running().status(), Status::cancelled);
}

TEST_F(DecisionTest, AWordIsTakenBackUntilTheCallIsMade) {
  EXPECT_EQ(fixture.run({"approve", "ses_8e1f"}).exit, 0);
  const Said denied = fixture.run({"deny", "ses_8e1f", "--reason", "on second thoughts"});
  EXPECT_EQ(denied.exit, 0) << denied.err;
  const auto words = must(
      fixture.store().log().read(must(SessionId::parse("ses_8e1f00")), {.channel = "approvals"}));
  EXPECT_EQ(words.back().kind, "refused");
}

TEST_F(DecisionTest, WhoeverTakesAWordBackSeesWhatItWas) {
  Mail mail(fixture.store(), must(SessionId::parse("ses_8e1f00")));
  must(mail.approve(must(MessageId::parse("msg_first")), 6, false, "ben", "no"));
  EXPECT_EQ(fixture.run({"approve", "ses_8e1f", "--overrule"}).out,
            "ses_8e1f00:6: approved, by ana; before that it was denied by ben (no).\n");
  const Said again = fixture.run({"--json", "approve", "ses_8e1f"});
  EXPECT_TRUE(again.out.contains(R"("overrules":null)")) << again.out;
  const Said denied = fixture.run({"--json", "deny", "ses_8e1f", "--reason", "no"});
  EXPECT_TRUE(denied.out.contains(R"("overrules":{"decision":"approved","who":"ana","reason":""})"))
      << denied.out;
}

TEST_F(DecisionTest, WhatIsDeniedIsAllowedOnlyIfSomebodySaysSoAgain) {
  EXPECT_EQ(fixture.run({"deny", "ses_8e1f", "--reason", "no"}).exit, 0);
  const Said said = fixture.run({"--yes", "approve", "ses_8e1f"});
  EXPECT_EQ(said.exit, 9) << said.out;
  EXPECT_TRUE(said.err.contains("was denied by ana (no): to allow it all the same, say --overrule"))
      << said.err;
  fixture.typed = "no";
  EXPECT_EQ(fixture.run({"approve", "ses_8e1f"}, 80).exit, 9);
  fixture.typed = "yes";
  EXPECT_EQ(fixture.run({"approve", "ses_8e1f", "--reason", "agreed with ana"}, 80).exit, 0);
  const auto words = must(
      fixture.store().log().read(must(SessionId::parse("ses_8e1f00")), {.channel = "approvals"}));
  EXPECT_EQ(words.back().kind, "given");
  EXPECT_TRUE(words.back().body.bytes().contains("agreed with ana; overrules: denied by ana (no)"))
      << words.back().body.bytes();
}

TEST_F(DecisionTest, ADenialThatALivingOwnerHasNotReadCountsToo) {
  const Session owner = fixture.hold(must(SessionId::parse("ses_8e1f00")));
  Mail mail(fixture.store(), must(SessionId::parse("ses_8e1f00")));
  must(mail.approve(must(MessageId::parse("msg_first")), 6, false, "ben", "no"));
  EXPECT_EQ(fixture.run({"approve", "ses_8e1f"}).exit, 9);
  EXPECT_EQ(must(fixture.store().inbox().list(must(SessionId::parse("ses_8e1f00")), 9)).size(), 1U);
}

TEST_F(DecisionTest, WhoeverAllowsACallSeesItsArguments) {
  const Said said = fixture.run({"approve", "ses_8e1f"});
  EXPECT_TRUE(said.err.contains("Call: mail.send (")) << said.err;
  EXPECT_TRUE(said.err.contains("{\"")) << said.err;
}

TEST_F(DecisionTest, QuietHidesNoCallThatIsAllowed) {
  const Said said = fixture.run({"-q", "approve", "ses_8e1f"});
  EXPECT_TRUE(said.err.contains("Call: mail.send (")) << said.err;
}

// It comes between the look for one and the word.
TEST_F(DecisionTest, ADenialThatIsNotSeenIsNotOverruled) {
  const SessionId id = must(SessionId::parse("ses_8e1f00"));
  Mail mail(fixture.store(), id);
  must(mail.approve(must(MessageId::parse("msg_deny")), 6, false, "ben", "no"));
  must(mail.approve(must(MessageId::parse("msg_allow")), 6, true, "ana", ""));
  Session session = fixture.hold(id);
  must(session.take_inbox());
  const auto words = must(fixture.store().log().read(id, {.channel = "approvals"}));
  EXPECT_EQ(words.back().kind, "refused");
}

TEST_F(DecisionTest, AWordToAnOwnerThatLivesSaysWhatItIsToTakeBack) {
  const SessionId session = must(SessionId::parse("ses_8e1f00"));
  EXPECT_EQ(fixture.run({"deny", "ses_8e1f", "--reason", "no"}).exit, 0);
  const Session owner = fixture.hold(session);
  std::future<Said> approving = std::async(
      std::launch::async, [&] { return fixture.run({"approve", "ses_8e1f", "--overrule"}); });
  while (approving.wait_for(std::chrono::milliseconds(50)) != std::future_status::ready) {
    fixture.clock.advance(std::chrono::seconds(1));
  }
  EXPECT_EQ(approving.get().out,
            "ses_8e1f00:6: approved, by ana (left in its inbox); before that it was denied by ana "
            "(no).\n");
}

TEST_F(DecisionTest, AnotherAnswerSaysWhatItIsInsteadOf) {
  EXPECT_EQ(fixture.run({"answer", "ses_6a3e", "blue"}).exit, 0);
  EXPECT_EQ(fixture.run({"answer", "ses_6a3e:6", "red"}).out,
            "ses_6a3e00:6: answered, by ana; before that it was answered by ana (blue).\n");
}

TEST_F(DecisionTest, AWordThatComesTooLateIsNotToldAsGiven) {
  const auto id = must(SessionId::parse("ses_8e1f00"));
  fixture.ids.meanwhile = [&] {
    Session session = must(fixture.runtime().open(id));
    must(session.set_status({.status = Status::active}));
    must(session.approve(session.state().details->open_calls.begin()->first, true, "ben", "fine"));
    must(session.run_calls({}));
    must(session.close());
  };
  const Said late = fixture.run({"deny", "ses_8e1f", "--reason", "on second thoughts"});
  EXPECT_EQ(late.exit, 1) << late.out;
  EXPECT_TRUE(late.err.contains("yours has no effect")) << late.err;
  EXPECT_EQ(late.out, "");
}

const std::vector<std::string> resolve_as_failed = {"resolve", "ses_2b7x", "--as",     "failed",
                                                    "--error", "no",       "--reason", "not there"};

TEST_F(DecisionTest, WhoeverDecidesTooLateHearsWhatStands) {
  const SessionId session = must(SessionId::parse("ses_2b7x00"));
  Mail mail(fixture.store(), session);
  must(
      mail.resolve(must(MessageId::parse("msg_first")), 6,
                   {.as = Decision::As::succeeded, .result = "rf_1", .who = "bob", .why = "seen"}));
  const Said said = fixture.run(resolve_as_failed);
  EXPECT_EQ(said.exit, 1);
  EXPECT_TRUE(said.err.contains("ses_2b7x00:6 (pay.refund) is succeeded meanwhile, by bob (seen)"))
      << said.err;
  EXPECT_FALSE(said.out.contains("failed, by ana")) << said.out;
  EXPECT_EQ(must(fixture.store().ledger().read(session, 6)).who, "bob");
}

TEST_F(DecisionTest, AnEarlierDecisionToRetryGivesWay) {
  Mail mail(fixture.store(), must(SessionId::parse("ses_2b7x00")));
  must(mail.resolve(must(MessageId::parse("msg_first")), 6,
                    {.as = Decision::As::retry, .who = "bob", .why = "not seen"}));
  const Said said = fixture.run(resolve_as_failed);
  EXPECT_EQ(said.exit, 0);
  EXPECT_EQ(said.out,
            "ses_2b7x00:6: failed, by ana; before that it was to be made again by bob (not "
            "seen).\n");
}

TEST_F(DecisionTest, ADecisionThatWasCarriedOutIsNotOverruled) {
  const SessionId id = must(SessionId::parse("ses_2b7x00"));
  Mail mail(fixture.store(), id);
  must(mail.resolve(must(MessageId::parse("msg_first")), 6,
                    {.as = Decision::As::retry, .who = "bob", .why = "not seen"}));
  Session session = fixture.hold(id);
  must(session.set_status({.status = Status::active}));
  must(session.take_inbox());
  must(session.run_calls({}));  // Nobody knows again.
  must(session.close());
  EXPECT_EQ(fixture.run(resolve_as_failed).out, "ses_2b7x00:6: failed, by ana.\n");
}

TEST_F(DecisionTest, WhoeverAllowsWhatIsGivenUpHearsIt) {
  const SessionId session = must(SessionId::parse("ses_8e1f00"));
  Mail mail(fixture.store(), session);
  must(mail.cancel(must(MessageId::parse("msg_first")), "bob", "enough"));
  const Said said = fixture.run({"approve", "ses_8e1f00"});
  EXPECT_EQ(said.exit, 1);
  EXPECT_TRUE(said.err.contains("mail.send) is cancelled meanwhile")) << said.err;
}

TEST_F(DecisionTest, ACallInDoubtOfACancelledSessionIsStillResolved) {
  EXPECT_EQ(fixture.run({"cancel", "ses_2b7x", "--reason", "enough"}).exit, 0);
  const Said said =
      fixture.run({"resolve", "ses_2b7x", "--as", "abandoned", "--reason", "nobody knows"});
  EXPECT_EQ(said.exit, 0) << said.err;
  const SessionId session = must(SessionId::parse("ses_2b7x00"));
  EXPECT_EQ(must(fixture.store().ledger().read(session, 6)).state, CallState::abandoned);
  EXPECT_EQ(must(fixture.store().sessions().read(session)).status, Status::cancelled);
  const Said log = fixture.run({"log", "ses_2b7x", "--channel", "status"});
  EXPECT_TRUE(log.out.contains("session_cancelled")) << log.out;
  EXPECT_TRUE(log.out.contains("cancelled by ana: enough")) << log.out;
}

TEST_F(DecisionTest, AnOwnerThatTakesItUpIsWaitedFor) {
  const SessionId session = must(SessionId::parse("ses_2b7x00"));
  Store& store = fixture.store();
  Session owner = fixture.hold(session);
  std::future<Said> resolving =
      std::async(std::launch::async, [&] { return fixture.run(resolve_as_failed); });
  for (auto seen = must(store.change_number()); must(store.inbox().list(session, 1)).empty();) {
    seen = must(store.wait_for_change(seen, std::chrono::minutes(5)));
  }
  EXPECT_EQ(must(owner.take_inbox()), 1U);
  const Said said = resolving.get();
  EXPECT_EQ(said.exit, 0) << said.err;
  EXPECT_EQ(said.out, "ses_2b7x00:6: failed, by ana.\n");
}

// The one that holds the session is only another decision: it goes, and each is taken in.
TEST_F(DecisionTest, OfDecisionsAtTheSameTimeOneStandsAndTheOthersHearIt) {
  const Said said = shell(
      "perdure -q resolve ses_2b7x --as succeeded --result R --reason a & one=$!; "
      "perdure -q resolve ses_2b7x --as failed --error E --reason b & two=$!; "
      "perdure -q resolve ses_2b7x --as abandoned --reason c & three=$!; "
      "for each in $one $two $three; do wait $each && echo =done; done");
  const auto first = said.out.find("=done");
  ASSERT_NE(first, std::string::npos) << said.out;
  EXPECT_EQ(said.out.find("=done", first + 1), std::string::npos) << said.out;
  EXPECT_FALSE(said.out.contains("left in its inbox")) << said.out;
}

TEST_F(DecisionTest, AResultThatHasNoEndIsRefused) {
  const Said said = fixture.run(
      {"resolve", "ses_2b7x", "--as", "succeeded", "--result", "@/dev/zero", "--reason", "seen"});
  EXPECT_EQ(said.exit, 2);
  EXPECT_TRUE(said.err.contains("/dev/zero has more than 256 MiB")) << said.err;
}

TEST_F(DecisionTest, ADecisionThatIsLongOrNotUtf8StandsAsItsOwn) {
  const Said odd = fixture.run({"resolve", "ses_2b7x", "--as", "succeeded", "--result", "a\xff\xfe",
                                "--reason", "seen \xff"});
  EXPECT_EQ(odd.exit, 0) << odd.err;
  std::ofstream(fixture.folder.path() / "long.txt") << std::string(1 << 21, 'x');
  const Said long_result = fixture.run(
      {"resolve", "ses_5d0c", "--as", "succeeded", "--result", "@long.txt", "--reason", "seen"});
  EXPECT_EQ(long_result.exit, 0) << long_result.err;
  const Said long_answer = fixture.run({"answer", "ses_6a3e", "@long.txt"});
  EXPECT_EQ(long_answer.exit, 0) << long_answer.err;
}

TEST_F(DecisionTest, ADashIsWhatComesThroughThePipe) {
  const Said said = shell(
      "printf 'rf 88' | perdure -q resolve ses_2b7x --as succeeded --result - --reason seen; "
      "printf 'it is full' | perdure -q resolve ses_5d0c --as failed --error - --reason seen; "
      "printf 'the blue one' | perdure -q answer ses_6a3e -; "
      "for each in ses_2b7x ses_5d0c ses_6a3e; do perdure log $each --channel inbox; done");
  EXPECT_TRUE(said.out.contains(R"("result":"rf 88")")) << said.out;
  EXPECT_TRUE(said.out.contains(R"("result":"it is full")")) << said.out;
  EXPECT_TRUE(said.out.contains(R"("why":"the blue one")")) << said.out;
  EXPECT_EQ(fixture.run({"answer", "ses_6a3e", "-"}).exit, 2);
}

TEST_F(DecisionTest, APersonAtATerminalIsAsked) {
  fixture.typed = "n";
  EXPECT_EQ(fixture.run({"delete", "ses_01d0"}, 80).exit, 9);
  fixture.typed = "y";
  EXPECT_EQ(fixture.run({"delete", "ses_01d0"}, 80).exit, 0);
  EXPECT_EQ(fixture.run({"show", "ses_01d0"}).exit, 3);
}

TEST_F(DecisionTest, ARetryOfAnUnsafeCallIsRecordedOnceItIsConfirmed) {
  fixture.typed = "yes";
  EXPECT_EQ(fixture.run({"resolve", "ses_2b7x", "--as", "retry", "--reason", "not there"}, 80).exit,
            0);
  const auto found =
      must(fixture.store().log().read(must(SessionId::parse("ses_2b7x00")), {.channel = "calls"}));
  EXPECT_EQ(found.back().kind, "resolution");
}

}  // namespace
}  // namespace perdure::cli
