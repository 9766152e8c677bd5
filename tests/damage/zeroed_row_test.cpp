// Rows of entries that a disk zeroed, so that not even their channel is known: no reader of one channel
// takes what is left for the whole.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <variant>

#include "book/book_session.hpp"
#include "contract/backends.hpp"
#include "dispatch/turns_fixture.hpp"
#include "doubles/must.hpp"
#include "doubles/temp_folder.hpp"
#include "perdure/adapters/checkpointer.hpp"
#include "perdure/adapters/saver.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/store.hpp"
#include "sqlite/engine/connection.hpp"

namespace perdure {
namespace {

using testing::ElementsAre;

void zero(std::string path, Position position) {
  if (path.starts_with("sqlite:")) path.erase(0, 7);
  std::atomic<std::uint64_t> rows = 0;
  sqlite::Connection connection(path, "", SQLITE_OPEN_READWRITE, &rows);
  connection.execute(
      fmt::format("UPDATE entry SET channel = '', kind = '', fold = 0, codec = 0, at = 0, hash = "
                  "zeroblob(32), body = NULL WHERE id & 0xFFFFFFFF = {}",
                  position));
}

Backend a_file() { return surviving_backends().front(); }

class ZeroedRow : public TurnsTest {};

TEST_P(ZeroedRow, OfAnOriginMakesNoNewOperationOfOneThatWasDone) {
  Tool pay = tool("pay");
  pay.repeat = Repeat::once_per_session;
  begin({pay});
  const auto pay_once = [&] {
    must(session->record_response(asks_for({{"pay", R"({"order":1})"}})));
    must(session->run_calls());
    must(session->record_request());
    must(session->record_response(assistant_says("done")));
  };
  pay_once();
  ASSERT_EQ(runs["pay"], 1);
  session.reset();
  runtime.reset();
  store.reset();
  zero(home.location(), 1);

  restart();
  session = must(runtime->open(id));
  must(session->record_request({}, user_says("again")));
  pay_once();

  EXPECT_EQ(runs["pay"], 1);
}

INSTANTIATE_TEST_SUITE_P(InAFile, ZeroedRow, testing::Values(a_file()));

class ZeroedRowOfABook : public BookSession {
 protected:
  void zero_and_restart(Position position) {
    book.reset();
    store.reset();
    zero(home.location(), position);
    store = must(open_store(home.location(), {.clock = &clock}));
    book = make();
  }
};

TEST_P(ZeroedRowOfABook, OfAnOriginMakesNoNewOperationOfOneThatWasDone) {
  must(book->start_session(session));
  complete(email("ann"), "sent");
  zero_and_restart(1);

  must(book->start_session(session));
  const auto again = book->record_tool_call_issued(session, email("ann"));

  EXPECT_EQ(code_of(again), ErrorCode::corrupted);
}

TEST_P(ZeroedRowOfABook, OfAMessageIsNamed) {
  must(book->start_session(session));
  save({said("user", "one"), said("assistant", "two"), said("user", "three")});
  const Position two = entries("transcript").at(1).position;
  zero_and_restart(two);

  const auto loaded = must(book->load_latest(session));

  ASSERT_TRUE(loaded);
  EXPECT_THAT(loaded->missing, ElementsAre(two));
}

INSTANTIATE_TEST_SUITE_P(InAFile, ZeroedRowOfABook, testing::Values(a_file()));

// States of one size, that change in places that do not touch.
TEST(ZeroedRowOfASaver, IsNotPassedOver) {
  const auto state = [](int changes) {
    std::string text = R"({"items": [)";
    for (int i = 0; i < 6; ++i)
      text += fmt::format("\"{} {}\",", i < changes, std::string(200, 'x'));
    return json(text + "0]}");
  };
  for (Position zeroed = 1; zeroed <= 6; ++zeroed) {
    const TempFolder folder;
    const std::string path = folder.file("s.db");
    std::string last;
    {
      const auto saver = make_saver(must(open_store(path)));
      for (int i = 1; i <= 6; ++i) last = must(saver->put("t", state(i))).id;
    }
    zero(path, zeroed);
    const std::shared_ptr<Store> store = must(open_store(path));
    const auto damaged = must(store->log().read(must(SessionId::parse("t")), {}));
    ASSERT_EQ(damaged.at(zeroed - 1).condition, Condition::damaged);

    const auto saver = make_saver(store);
    const auto got = saver->get("t");

    if (got) {
      EXPECT_EQ(must(must(got)->state.read()).text(), state(6).text()) << zeroed;
    } else {
      EXPECT_EQ(got.error().code, ErrorCode::corrupted) << zeroed;
    }
    must(saver->put("t", state(0)));
    EXPECT_EQ(must(must(saver->get("t"))->state.read()).text(), state(0).text()) << zeroed;
  }
}

// A step that was done is not given out once more because its record is lost.
TEST(ZeroedRowOfASaver, GivesNoStepOutThatWasDone) {
  for (Position zeroed = 1; zeroed <= 2; ++zeroed) {
    const TempFolder folder;
    const std::string path = folder.file("s.db");
    {
      const auto saver = make_saver(must(open_store(path)));
      const auto claim = must(saver->claim_step("t", "pay", "order 1"));
      must(saver->fill_step(std::get<CheckpointSaver::StepClaim>(claim), json("1")));
    }
    zero(path, zeroed);
    const auto saver = make_saver(must(open_store(path)));
    const auto again = saver->claim_step("t", "pay", "order 1");
    if (again) {
      EXPECT_TRUE(std::holds_alternative<CheckpointSaver::Step>(*again)) << zeroed;
    } else {
      EXPECT_EQ(again.error().code, ErrorCode::corrupted) << zeroed;
    }
  }
}

}  // namespace
}  // namespace perdure
