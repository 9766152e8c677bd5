// The three exercises of the book's chapter 21, with processes that are killed, and what a
// person sees of it in the file.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

#include "contract/backends.hpp"
#include "crash/child_process.hpp"
#include "doubles/must.hpp"
#include "doubles/temp_folder.hpp"
#include "perdure/adapters/checkpointer.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/store.hpp"
#include "sqlite/engine/connection.hpp"

namespace perdure {
namespace {

using Lines = std::vector<std::string>;

class Exercise : public testing::TestWithParam<Backend> {
 protected:
  [[nodiscard]] std::string location() const { return home.location(); }
  [[nodiscard]] std::string outbox() const { return folder.file("outbox"); }
  [[nodiscard]] std::size_t emails() const {
    return std::filesystem::exists(outbox()) ? std::filesystem::file_size(outbox()) / 6 : 0;
  }
  [[nodiscard]] std::unique_ptr<Store> open() const { return must(open_store(location())); }

  /// A process from now until its end; its last line.
  std::string send(const Lines& how = {}) {
    Lines words{location(), session.text(), "send", outbox()};
    words.insert(words.end(), how.begin(), how.end());
    ChildProcess agent("book_agent", words);
    const Lines said = agent.read_to_end();
    (void)agent.wait();
    return said.empty() ? "" : said.back();
  }

  /// Takes the turns up to `last` in a process of their own, which is killed in the next one.
  /// Returns what it had loaded.
  std::string take_turns_and_die(int first, int last) {
    ChildProcess agent("book_agent", {location(), session.text(), "turns", std::to_string(last)});
    const auto loaded = agent.read_line();
    for (int turn = first; turn <= last; ++turn) {
      agent.tell("go");
      EXPECT_EQ(agent.read_line(), "turn " + std::to_string(turn));
    }
    agent.kill();
    EXPECT_TRUE(agent.wait().was_killed());
    return loaded.value_or("nothing");
  }

  /// The views of the chapter are SQLite's.
  [[nodiscard]] static bool has_views() { return GetParam().home == Home::file; }
  /// As a person asks with a database shell.
  [[nodiscard]] Lines query(const std::string& sql) const {
    std::atomic<std::uint64_t> read = 0;
    sqlite::Connection connection(home.file(), "", SQLITE_OPEN_READONLY, &read);
    auto rows = connection.query(sql);
    Lines lines;
    while (rows.next()) lines.push_back(rows.string(0));
    return lines;
  }

  static std::string transcript(int turns) {
    std::string list = "[";
    for (int turn = 1; turn <= turns; ++turn) {
      const std::string n = std::to_string(turn);
      list += (turn > 1 ? "," : "") +
              (R"({"role":"user","blocks":[{"kind":"text","text":")" + n + R"("}]},)") +
              (R"({"role":"assistant","blocks":[{"kind":"text","text":")" + n + R"(!"}]})");
    }
    return list + "]";
  }

  TempFolder folder;
  StorePlace home{GetParam()};
  const SessionId session = must(SessionId::parse("session-alpha"));
};

class ShellExercise : public Exercise {};

std::string backend_name(const testing::TestParamInfo<Backend>& backend) {
  return backend.param.name;
}

INSTANTIATE_TEST_SUITE_P(Every, Exercise, testing::ValuesIn(surviving_backends()), backend_name);
INSTANTIATE_TEST_SUITE_P(Every, ShellExercise, testing::ValuesIn(file_backends()), backend_name);

TEST_P(Exercise, KilledAfterTurnFourAndResumedItGoesOnWithTurnFive) {
  EXPECT_EQ(take_turns_and_die(1, 4), "loaded 0 0 []");
  EXPECT_EQ(take_turns_and_die(5, 6), "loaded 4 1000000 " + transcript(4));
  const auto store = open();
  const auto last = must(Checkpointer(*store).load_latest(session)).value();
  EXPECT_EQ(last.version, 6U);
  EXPECT_EQ(last.content.transcript.text(), transcript(6));
  EXPECT_EQ(last.content.plan.value().text(), R"({"step":6})");
}

TEST_P(Exercise, TheSameEmailTwiceInASessionIsSentOnce) {
  EXPECT_EQ(send(), "sent");
  EXPECT_EQ(send(), "replay sent");
  EXPECT_EQ(send(), "replay sent");
  EXPECT_EQ(emails(), 1U);
}

TEST_P(Exercise, KilledBetweenSendAndRecordItIsPendingAndNeverSentAgainByItself) {
  EXPECT_EQ(send({"die"}), "");
  EXPECT_EQ(emails(), 1U);
  for (int again = 0; again < 3; ++again) EXPECT_EQ(send(), "in doubt");
  EXPECT_EQ(emails(), 1U);

  const auto store = open();
  Checkpointer book(*store);
  const auto open_calls = must(book.check_pending_tool_calls(session));
  ASSERT_EQ(open_calls.size(), 1U);
  EXPECT_EQ(open_calls[0].args, R"({"to": "ann"})");
  EXPECT_TRUE(must(store->sessions().read(session)).needs_attention());

  // A person looks into the outbox, and says so.
  must(book.start_session(session));
  must(book.record_tool_call_result(session, open_calls[0].call, Succeeded{"it was sent"}, "ann"));
  must(book.end_session(session, Status::failed));
  if (!has_views()) return;
  EXPECT_EQ(query("SELECT call_id || ' ' || tool_name || ' ' || args_json || ' ' || status || ' ' "
                  "|| result_text FROM tool_calls"),
            Lines{R"(call_1 send_email {"to": "ann"} completed it was sent)"});
}

TEST_P(Exercise, AfterAMiddleVersionIsDeletedItResumesAndTheRestTellsHowItWent) {
  take_turns_and_die(1, 4);
  {
    const auto store = open();
    must(store->upkeep().forget(session, 2));
    const auto gone = read_content(*store, session, Point::version(2));
    ASSERT_FALSE(gone);
    EXPECT_EQ(gone.error().code, ErrorCode::not_found);
  }
  EXPECT_EQ(take_turns_and_die(5, 5), "loaded 4 1000000 " + transcript(4));
  const auto store = open();
  for (const int version : {1, 3, 4, 5}) {
    const auto then =
        must(read_content(*store, session, Point::version(static_cast<Version>(version)))).content;
    EXPECT_EQ(then.transcript.text(), transcript(version));
    EXPECT_EQ(then.plan.value().text(), R"({"step":)" + std::to_string(version) + "}");
    EXPECT_EQ(then.spent_micros, 250'000 * version);
  }
  if (!has_views()) return;
  EXPECT_EQ(query("SELECT version || ' ' || json_array_length(transcript_json) || ' ' || plan_json "
                  "|| ' ' || budget_spent_usd FROM checkpoints ORDER BY version"),
            (Lines{R"(1 2 {"step":1} 0.25)", R"(3 6 {"step":3} 0.75)", R"(4 8 {"step":4} 1.0)",
                   R"(5 10 {"step":5} 1.25)"}));
}

TEST_P(ShellExercise, AShellShowsTheTablesOfTheChapter) {
  take_turns_and_die(1, 2);
  EXPECT_EQ(send({"die"}), "");
  EXPECT_EQ(query("SELECT session_id || ' ' || status FROM sessions"),
            Lines{"session-alpha active"});
  EXPECT_EQ(query("SELECT transcript_json FROM checkpoints ORDER BY version"),
            (Lines{transcript(1), transcript(2)}));
  EXPECT_EQ(query("SELECT args_json || ' ' || status || ' ' || (result_text IS NULL) || ' ' || "
                  "length(idempotency_key) FROM tool_calls"),
            Lines{R"({"to": "ann"} issued 1 64)"});
}

TEST_P(Exercise, OfTwoProcessesThatAskAtOnceOneRunsIt) {
  for (int round = 0; round < 5; ++round) {
    const StorePlace own(GetParam());
    ChildProcess one("book_agent", {own.location(), "one", "race", outbox()});
    ChildProcess two("book_agent", {own.location(), "two", "race", outbox()});
    EXPECT_EQ(one.read_line(), "ready");
    EXPECT_EQ(two.read_line(), "ready");
    one.tell("go");
    two.tell("go");
    Lines said{one.read_line().value_or(""), two.read_line().value_or("")};
    std::ranges::sort(said);
    EXPECT_EQ(said[1], "sent");
    EXPECT_TRUE(said[0] == "running" || said[0] == "replay sent") << said[0];
    EXPECT_EQ(emails(), static_cast<std::size_t>(round) + 1);
  }
}

TEST_P(Exercise, ASecondProcessIsToldWhoHasTheSessionAndTakesADeadOneOverAtOnce) {
  ChildProcess holder("book_agent", {location(), session.text(), "hold"});
  ASSERT_EQ(holder.read_line(), "held");
  const std::string refused = send();
  EXPECT_TRUE(refused.starts_with("trouble lease_held: session session-alpha is held by worker"))
      << refused;
  EXPECT_EQ(emails(), 0U);
  holder.kill();
  EXPECT_TRUE(holder.wait().was_killed());
  EXPECT_EQ(send(), "sent");
}

}  // namespace
}  // namespace perdure
