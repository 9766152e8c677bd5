// Stopping a session, for a while or for good, and what people call it.

#include <algorithm>
#include <cstddef>
#include <fmt/format.h>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "command/command.hpp"
#include "command/table.hpp"
#include "desk.hpp"
#include "exit.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/runtime/mail.hpp"
#include "perdure/store/sessions.hpp"
#include "place/reference.hpp"
#include "verbs/as_json.hpp"
#include "verbs/deliver.hpp"

namespace perdure::cli {
namespace {

const Argument session_argument = {
    .name = "SES", .summary = "The session", .by = Completes::session};
const Option reason_option = {.name = "reason", .value = "TEXT", .summary = "Why"};

constexpr std::string_view stop_details =
    "What a model says and what a tool does in the middle of it are stopped. An unsafe call that "
    "was "
    "stopped so is in doubt: perdure pending lists it, perdure resolve settles it.";

using PostWord = Result<void> (Mail::*)(const MessageId&, const std::string&, const std::string&);

Result<Exit> post_word(Desk& desk, std::string decision, PostWord post, std::string next) {
  auto store = desk.open();
  if (!store) return forward(store);
  auto row = find_session(**store, desk.given().arguments.front());
  if (!row) return forward(row);
  if (auto goes_on = check_goes_on(desk, *row); !goes_on) return forward(goes_on);
  const std::string reason = desk.given().find("reason").value_or("");
  return deliver(desk, {.session = row->id,
                        .decision = std::move(decision),
                        .reason = reason,
                        .next = std::move(next),
                        .heard = "stops what is in the middle as soon as this is seen",
                        .post = [&](Mail& mail, const MessageId& id) {
                          return (mail.*post)(id, desk.world().user, reason);
                        }});
}

Result<Exit> run_pause(Desk& desk) { return post_word(desk, "paused", &Mail::pause, "resume"); }
Result<Exit> run_cancel(Desk& desk) { return post_word(desk, "cancelled", &Mail::cancel, "fork"); }

Result<Exit> annotate(Desk& desk, const SessionSummary& row, const Annotation& part) {
  auto store = desk.open();
  if (!store) return forward(store);
  auto changed = (*store)->sessions().annotate(row.id, part);
  if (!changed) return forward(changed);
  desk.output().document("perdure.renamed/1", {{"session", as_json(*changed)}});
  if (desk.output().is_json()) return Exit::done;
  const std::string tags = fmt::format("{}", fmt::join(changed->tags, ", "));
  desk.screen().line(fmt::format("{}  {}{}", changed->id.text(), changed->title,
                                 tags.empty() ? "" : fmt::format("  [{}]", tags)));
  return Exit::done;
}

Result<Exit> run_rename(Desk& desk) {
  auto store = desk.open();
  if (!store) return forward(store);
  auto row = find_session(**store, desk.given().arguments.front());
  if (!row) return forward(row);
  return annotate(desk, *row, {.title = desk.given().arguments.at(1)});
}

Result<Exit> run_tag(Desk& desk) {
  auto store = desk.open();
  if (!store) return forward(store);
  auto row = find_session(**store, desk.given().arguments.front());
  if (!row) return forward(row);
  std::vector<std::string> tags = row->tags;
  for (const std::string& gone : desk.given().all("remove")) {
    if (std::erase(tags, gone) == 0) desk.talk().line(fmt::format("It has no tag {}.", gone));
  }
  for (std::size_t i = 1; i < desk.given().arguments.size(); ++i) {
    const std::string& tag = desk.given().arguments[i];
    if (std::ranges::find(tags, tag) == tags.end()) tags.push_back(tag);
  }
  return annotate(desk, *row, {.tags = std::move(tags)});
}

}  // namespace

Command pause_command() {
  return {
      .name = "pause",
      .summary = "Stop a session, also in the middle of a step, until it is resumed",
      .details = stop_details,
      .arguments = {session_argument},
      .options = {reason_option},
      .opens_store = true,
      .examples = {{"perdure pause @last --reason 'over night'", "it holds no process meanwhile"}},
      .schema = "perdure.decision/1",
      .run = run_pause};
}

Command cancel_command() {
  return {.name = "cancel",
          .summary = "End a session; it stays readable, and can be forked",
          .details = stop_details,
          .arguments = {session_argument},
          .options = {reason_option},
          .opens_store = true,
          .examples = {{"perdure cancel ses_5d0c", "nothing of it runs any more"}},
          .schema = "perdure.decision/1",
          .run = run_cancel};
}

Command rename_command() {
  return {
      .name = "rename",
      .summary = "Give a session a title",
      .arguments = {session_argument, {.name = "TITLE", .summary = "The title"}},
      .opens_store = true,
      .examples = {{"perdure rename @last 'Refund order 4711'", "found by its title from now on"}},
      .schema = "perdure.renamed/1",
      .run = run_rename};
}

Command tag_command() {
  return {.name = "tag",
          .summary = "Add or remove tags of a session",
          .arguments = {session_argument,
                        {.name = "TAG", .summary = "Tags to add", .count = Argument::Count::any}},
          .options =
              {{.name = "remove", .value = "TAG", .summary = "A tag to remove", .repeats = true}},
          .opens_store = true,
          .examples = {{"perdure tag @last prod --remove test", "for filters: tag:prod"}},
          .schema = "perdure.renamed/1",
          .run = run_tag};
}

}  // namespace perdure::cli
