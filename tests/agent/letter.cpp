// Its judge reads what is left: the log, the state, and the file on the desk.

#include "agent/letter.hpp"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "agent/task.hpp"
#include "perdure/agent/tools.hpp"
#include "perdure/core/error.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/log.hpp"
#include "runtime/api/records.hpp"

namespace perdure::agents {
namespace {

using Complaints = std::vector<std::string>;

constexpr std::string_view letter_script = R"({"responses": [
    {"text": "I plan.", "usage": {"in": 60, "out": 40}, "calls": [
      {"name": "plan_create", "args": {"objective": "A letter to Anne.", "steps": ["write", "send"],
        "postconditions": ["it is sent"]}},
      {"name": "note_write", "args": {"key": "to", "text": "Anne, Bath"}}]},
    {"usage": {"in": 60, "out": 40}, "calls": [
      {"name": "write_file", "args": {"path": "letter.txt", "content": "Dear Ann,\nit is blue.\n"}},
      {"name": "edit_file", "args": {"path": "letter.txt", "old_text": "blue", "new_text": "blueish"}}]},
    {"usage": {"in": 60, "out": 40}, "calls": [
      {"name": "step_update", "args": {"step": "s1", "status": "done", "evidence": "letter.txt"}},
      {"name": "send", "args": {"op": "send-1", "to": "Anne"}}]},
    {"usage": {"in": 60, "out": 40}, "calls": [
      {"name": "step_update", "args": {"step": "s2", "status": "done", "evidence": "a receipt"}},
      {"name": "postcondition_verify", "args": {"number": 1, "evidence": "the receipt of send-1"}},
      {"name": "note_write", "args": {"key": "sent", "text": "send-1"}}]},
    {"text": "The letter is sent.", "usage": {"in": 60, "out": 40}}
  ]})";

Result<Toolbox> letter_tools(const TaskPlace& place) {
  std::vector<ToolSpec> specs = make_plan_tools();
  std::ranges::move(make_note_tools(), std::back_inserter(specs));
  auto files = make_file_tools({.roots = {{.path = place.desk, .is_writable = true}}});
  if (!files) return forward(files);
  std::ranges::move(*files, std::back_inserter(specs));
  auto send = make_world_tool(place, {.name = "send", .how = "effect", .has_verify = true});
  if (!send) return forward(send);
  specs.push_back(*std::move(send));
  return Toolbox::of(std::move(specs));
}

// Asked, given and used, each once: whoever died, nobody had to give the word again.
void judge_approval(const Ended& ended, Complaints& wrong) {
  std::map<std::string, int> times;
  for (const Entry& entry : ended.log) {
    if (entry.channel == "approvals") ++times[entry.kind];
  }
  const std::map<std::string, int> once = {{"asked", 1}, {"given", 1}, {"used", 1}};
  if (times == once) return;
  std::string found;
  for (const auto& [kind, count] : times) found += fmt::format(" {} {}", kind, count);
  wrong.push_back("the approval is not asked, given and used once:" + found);
}

void judge_mail(const Ended& ended, Complaints& wrong) {
  const auto heard = std::ranges::count_if(ended.state.transcript, [](const PlacedMessage& placed) {
    return placed.message.role == Role::user && text_of(placed.message) == bystanders_word;
  });
  if (heard != 1) wrong.push_back(fmt::format("the bystander was heard {} times", heard));
}

void judge_plan(const Ended& ended, Complaints& wrong) {
  if (!ended.state.plan) return wrong.push_back("there is no plan");
  std::string found;
  for (const PlanStep& step : ended.state.plan->steps) {
    found += fmt::format("{} {} {};", step.id, to_string(step.status), step.evidence.value_or(""));
  }
  for (const Postcondition& condition : ended.state.plan->postconditions) {
    found += condition.evidence.value_or("");
  }
  if (found != "s1 done letter.txt;s2 done a receipt;the receipt of send-1") {
    wrong.push_back("the plan is " + found);
  }
}

void judge_notes(const Ended& ended, Complaints& wrong) {
  const Scratchpad expected{.values = {{"sent", "send-1"}, {"to", "Anne, Bath"}}};
  if (ended.state.scratchpad != expected) wrong.emplace_back("notes are missing, or too many");
}

void judge_file(const Ended& ended, Complaints& wrong) {
  std::ifstream file(ended.desk + "/letter.txt");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  if (text != "Dear Ann,\nit is blueish.\n") wrong.push_back("the letter is \"" + text + "\"");
}

Complaints complaints(const Ended& ended) {
  Complaints wrong;
  judge_approval(ended, wrong);
  judge_mail(ended, wrong);
  judge_plan(ended, wrong);
  judge_notes(ended, wrong);
  judge_file(ended, wrong);
  return wrong;
}

}  // namespace

// Its clock stands still, and the times of files do not tell what a call of it wrote; their keys do.
const Task& letter_task() {
  static const Task task{.name = "letter",
                         .script = letter_script,
                         .answer = "The letter is sent.",
                         .responses = 5,
                         .ops = {"send-1"},
                         .rules = {{.pattern = "send", .permit = Permit::ask}},
                         .ahead = std::chrono::duration_cast<Duration>(std::chrono::years(20)),
                         .has_bystander = true,
                         .make_tools = letter_tools,
                         .complaints = complaints};
  return task;
}

}  // namespace perdure::agents
