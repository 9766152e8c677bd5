// Holes 16, 17, 19, 20, 21 and 28: what a session is, is there after its process died.

#include <cstddef>
#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <variant>

#include "contract/backends.hpp"
#include "doubles/must.hpp"
#include "holes/hole_session.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "runtime/api/records.hpp"
#include "session/parts.hpp"
#include "writer/session_writer.hpp"

namespace perdure {
namespace {

class Hole16 : public HoleSession {};
class Hole17 : public HoleSession {};
class Hole19 : public HoleSession {};
class Hole20 : public HoleSession {};
class Hole21 : public HoleSession {};

class Hole28 : public HoleSession {
 protected:
  void note(const std::string& text) {
    SessionWriter& writer = session_parts(*session).writer;
    Draft draft = writer.draft();
    const ScratchEntry entry{.key = "todo", .value = text};
    draft.add(appending("scratchpad", std::string(kind_of(entry)), to_json(entry)));
    must(writer.commit(std::move(draft)));
  }
  std::string note_at(Point point) {
    return std::get<std::string>(must(session->state_at(point)).scratchpad.values.at("todo"));
  }
};

TEST_P(Hole16, APlanComesBackAsAPlan) {
  begin({});
  Plan plan{.id = "p", .objective = "pay ann", .created_at = clock.now()};
  const std::string step = add_step(plan, "look her up");
  must(update_step(plan, step, {.status = StepStatus::done, .evidence = "row 7"}));
  add_step(plan, "pay");
  must(session->set(plan));
  restart_and_resume();

  ASSERT_EQ(session->state().plan, plan);
  Plan again = *session->state().plan;
  EXPECT_TRUE(update_step(again, "s2", {.status = StepStatus::done, .evidence = "receipt 8"}));
  EXPECT_TRUE(again.is_ready_to_finish());
}

TEST_P(Hole17, TheSystemPromptModelParametersAndToolsComeBack) {
  const perdure::Setup setup{
      .system_prompt = "be kind",
      .model = "m-1",
      .parameters = must(RawJson::from_text(R"({ "temperature" : 0.10 })")),
      .tools = {{.name = "pay",
                 .description = "pays",
                 .input_schema = must(RawJson::from_text(R"({ "type":"object"})"))}}};
  begin({}, {}, {.setup = setup});
  restart_and_resume();
  EXPECT_EQ(session->state().setup, setup);
}

TEST_P(Hole19, CountersAndApprovalsComeBack) {
  begin({tool("pay")}, {.permit = [](const State&, const ProposedCall&) {
          return PermitDecision::ask("it is a rule");
        }});
  must(session->count("spawned", 4));
  const auto asked = turn({{"pay", "{}"}});
  ASSERT_TRUE(asked.waiting);
  must(session->approve(asked.waiting->call, true, "ann", "fine"));

  const auto report = restart_and_resume();

  EXPECT_EQ(session->state().counters.at("spawned"), 4);
  EXPECT_FALSE(report.calls.waiting) << "ann was asked already";
  EXPECT_EQ(runs("pay"), 1);
}

TEST_P(Hole20, TheFirstQuestionSurvivesADeathBeforeItsAnswer) {
  begin({});
  must(session->record_request({}, user_says("what is the time?")));
  restart_and_resume();
  ASSERT_EQ(session->state().transcript.size(), 1U);
  EXPECT_EQ(text_of(session->state().transcript[0].message), "what is the time?");
}

TEST_P(Hole21, TheLastTurnIsKeptAndWhatHasEndedStaysEnded) {
  begin({});
  must(session->record_request({}, user_says("go")));
  must(session->record_response(assistant_says("done")));
  must(session->set_status({.status = Status::completed}));
  restart_and_resume();

  EXPECT_EQ(text_of(session->state().transcript.back().message), "done");
  EXPECT_EQ(must(session->versions()).size(), 1U);
  EXPECT_EQ(session->status(), Status::completed);
  EXPECT_EQ(code_of(session->set_status({.status = Status::active})), ErrorCode::conflict);
}

TEST_P(Hole28, AnOldVersionHasTheScratchpadOfItsTime) {
  begin({});
  note("buy milk");
  const Version old = must(session->checkpoint());
  note("sell milk");
  restart_and_resume();
  EXPECT_EQ(note_at(Point::version(old)), "buy milk");
  EXPECT_EQ(note_at(Point::head()), "sell milk");
}

INSTANTIATE_TEST_SUITE_P(EveryBackend, Hole16, testing::ValuesIn(every_backend()), backend_name);
INSTANTIATE_TEST_SUITE_P(EveryBackend, Hole17, testing::ValuesIn(every_backend()), backend_name);
INSTANTIATE_TEST_SUITE_P(EveryBackend, Hole19, testing::ValuesIn(every_backend()), backend_name);
INSTANTIATE_TEST_SUITE_P(EveryBackend, Hole20, testing::ValuesIn(every_backend()), backend_name);
INSTANTIATE_TEST_SUITE_P(EveryBackend, Hole21, testing::ValuesIn(every_backend()), backend_name);
INSTANTIATE_TEST_SUITE_P(EveryBackend, Hole28, testing::ValuesIn(every_backend()), backend_name);

}  // namespace
}  // namespace perdure
