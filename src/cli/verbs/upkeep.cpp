// Looking after a store: is it sound, what does it rest on, a copy of it, what can be saved of it.

#include "perdure/store/upkeep.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fmt/format.h>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "command/command.hpp"
#include "command/table.hpp"
#include "desk.hpp"
#include "exit.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/store/store.hpp"
#include "place/path.hpp"
#include "screen/progress_bar.hpp"
#include "screen/screen.hpp"
#include "screen/words.hpp"
#include "store/api/location.hpp"

namespace perdure::cli {
namespace {

Json damage_json(const Damage& damage) {
  return Json::Object{{"fault", to_string(damage.fault)},
                      {"session", damage.session ? Json(damage.session->text()) : Json(nullptr)},
                      {"first", damage.first},
                      {"last", damage.last},
                      {"what", damage.what}};
}

Json::Array damage_list(const std::vector<Damage>& damage) {
  Json::Array list;
  for (const Damage& each : damage) list.push_back(damage_json(each));
  return list;
}

void print_damage(Desk& desk, const std::vector<Damage>& list) {
  for (const Damage& damage : list) {
    const std::string where = damage.session ? damage.session->text() : "store";
    desk.screen().line({{fmt::format("! {}", to_string(damage.fault)), Ink::red},
                        {fmt::format("  {}: {}", where, damage.what)}});
  }
}

// What is lost for good is found again by every check.
void tell_of_loss(Desk& desk) {
  desk.talk().line(
      "What is lost may be in a backup from before. All else is as it was: these sessions open, "
      "and can be forked; export and copy take them along with --with-damage.");
}

// A salvage mends a file. In one that is sound it would find what a check finds, and no more.
void advise(Desk& desk, const CheckReport& report, const std::string& backend) {
  const bool is_of_the_file =
      std::ranges::find(report.damage, Fault::file, &Damage::fault) != report.damage.end();
  if (is_of_the_file && backend == "sqlite") {
    desk.talk().line(
        "What can still be read is saved into a new store by: perdure salvage FROM TO");
  } else if (is_of_the_file) {
    desk.talk().line("The server cannot read its own files: restore a backup of it.");
  } else {
    tell_of_loss(desk);
  }
}

void print_report(Desk& desk, const CheckReport& report, const std::string& backend) {
  print_damage(desk, report.damage);
  const std::string looked = fmt::format(
      "{}, {}, {}, {}, {} hashed", counted(report.sessions, "session"),
      counted(report.commits, "commit"),
      report.entries == 1
          ? "1 entry"
          : fmt::format("{} entries", grouped(static_cast<std::int64_t>(report.entries))),
      counted(report.calls, "call"), bytes_text(report.bytes));
  if (report.is_sound()) {
    desk.screen().line({{"✓ sound", Ink::green}, {fmt::format(": {}", looked)}});
  } else {
    desk.screen().line({{fmt::format("✗ {}", counted(report.found, "finding")), Ink::red},
                        {fmt::format(": {}", looked)}});
    advise(desk, report, backend);
  }
}

Result<Exit> run_check(Desk& desk) {
  auto store = desk.open();
  if (!store) return forward(store);
  auto report = [&] {
    ProgressBar bar(desk.talk(), *desk.world().clock, "checking");
    return (*store)->upkeep().check(bar.follow());
  }();
  if (!report) return forward(report);
  desk.output().document("perdure.check/1", {{"sound", report->is_sound()},
                                             {"sessions", report->sessions},
                                             {"commits", report->commits},
                                             {"entries", report->entries},
                                             {"calls", report->calls},
                                             {"blobs", report->blobs},
                                             {"bytes", report->bytes},
                                             {"found", report->found},
                                             {"damage", damage_list(report->damage)}});
  if (!desk.output().is_json()) print_report(desk, *report, (*store)->info().backend);
  return report->is_sound() ? Exit::done : Exit::damaged;
}

Result<Exit> run_salvage(Desk& desk) {
  auto from = file_path(desk.given().arguments.at(0), desk.world().folder);
  if (!from) return forward(from);
  auto to = file_path(desk.given().arguments.at(1), desk.world().folder);
  if (!to) return forward(to);
  auto report = [&] {
    ProgressBar bar(desk.talk(), *desk.world().clock, "salvaging");
    return salvage_store(*from, *to, bar.follow());
  }();
  if (!report) return forward(report);
  desk.output().document("perdure.salvage/1", {{"to", *to},
                                               {"sessions", report->sessions},
                                               {"whole", report->whole},
                                               {"entries", report->entries},
                                               {"entries_lost", report->entries_lost},
                                               {"entries_damaged", report->entries_damaged},
                                               {"pages_unreadable", report->pages_unreadable},
                                               {"found", report->found},
                                               {"damage", damage_list(report->damage)}});
  const bool is_whole = report->entries_lost + report->entries_damaged + report->found == 0;
  const Exit exit = is_whole ? Exit::done : Exit::damaged;
  if (desk.output().is_json()) return exit;
  desk.screen().line(
      fmt::format("Saved {} to {}: {} lost nothing. {} entries kept, {} lost, {} damaged.",
                  counted(report->sessions, "session"), *to, report->whole, report->entries,
                  report->entries_lost, report->entries_damaged));
  print_damage(desk, report->damage);
  if (report->found > 0) {
    desk.talk().line(
        fmt::format("A check of it will find {}, and no salvage can mend that.",
                    report->found == 1 ? "this" : "these " + std::to_string(report->found)));
    tell_of_loss(desk);
  }
  desk.talk().line(fmt::format(
      "{} was not changed. Unfinished sessions of the new store are paused and need attention.",
      *from));
  return exit;
}

Result<Exit> run_backup(Desk& desk) {
  auto to = file_path(desk.given().arguments.front(), desk.world().folder);
  if (!to) return forward(to);
  auto store = desk.open();
  if (!store) return forward(store);
  auto done = [&] {
    ProgressBar bar(desk.talk(), *desk.world().clock, "backing up");
    return (*store)->upkeep().backup(*to, bar.follow());
  }();
  if (!done) return forward(done);
  std::error_code ignored;
  const auto bytes = std::filesystem::file_size(*to, ignored);
  desk.output().document("perdure.backup/1", {{"to", *to}, {"bytes", ignored ? 0 : bytes}});
  if (desk.output().is_json()) return Exit::done;
  desk.screen().line(fmt::format("Backed up to {} ({}).", *to, bytes_text(bytes)));
  desk.talk().line(
      "It is restored by opening it; its unfinished sessions then come up paused and need "
      "attention.");
  return Exit::done;
}

void print_remark(Desk& desk, const Remark& remark) {
  const Ink ink = remark.gravity == Gravity::danger    ? Ink::red
                  : remark.gravity == Gravity::warning ? Ink::yellow
                                                       : Ink::green;
  const std::string_view icon = remark.gravity == Gravity::danger    ? "✗"
                                : remark.gravity == Gravity::warning ? "!"
                                                                     : "✓";
  desk.screen().line({{fmt::format("{} {:<8} ", icon, to_string(remark.gravity)), ink},
                      {fmt::format("{}: {}", remark.topic, remark.what)}});
  if (!remark.advice.empty())
    desk.screen().line({{fmt::format("           {}", remark.advice), Ink::dim}});
}

Exit print_doctor(Desk& desk, const StoreInfo& info, const std::vector<Remark>& remarks) {
  Json::Array list;
  bool is_dangerous = false;
  for (const Remark& remark : remarks) {
    is_dangerous = is_dangerous || remark.gravity == Gravity::danger;
    list.push_back(Json::Object{{"gravity", to_string(remark.gravity)},
                                {"topic", remark.topic},
                                {"what", remark.what},
                                {"advice", remark.advice}});
  }
  desk.output().document("perdure.doctor/1",
                         {{"backend", info.backend},
                          {"location", info.location},
                          {"engine", info.engine},
                          {"format", info.format},
                          {"incarnation", info.incarnation},
                          {"durability", info.durability == Durability::full ? "full" : "process"},
                          {"remarks", std::move(list)}});
  const Exit exit = is_dangerous ? Exit::failed : Exit::done;
  if (desk.output().is_json()) return exit;
  const std::string format =
      info.format == 0 ? "no store yet" : fmt::format("format {}", info.format);
  desk.screen().line(fmt::format("{} ({}, {})", info.location, info.engine, format));
  for (const Remark& remark : remarks) print_remark(desk, remark);
  return exit;
}

// One wants to know it before the first run.
Result<Exit> look_at_server(Desk& desk) {
  auto remarks = examine_server(desk.location());
  if (!remarks) return forward(remarks);
  remarks->push_back({.gravity = Gravity::fine,
                      .topic = "store",
                      .what = "there is none in this schema yet",
                      .advice = "perdure run makes it"});
  return print_doctor(
      desk,
      {.backend = "postgres", .location = shown_location(desk.location()), .engine = "PostgreSQL"},
      *remarks);
}

Result<Exit> run_doctor(Desk& desk) {
  auto store = desk.open();
  const bool is_missing = !store && store.error().code == ErrorCode::not_found;
  if (is_missing && store.error().subject.empty() && is_address(desk.location())) {
    return look_at_server(desk);
  }
  if (!store) return forward(store);
  auto remarks = (*store)->doctor();
  if (!remarks) return forward(remarks);
  return print_doctor(desk, (*store)->info(), *remarks);
}

}  // namespace

Command check_command() {
  return {.name = "check",
          .summary = "Test the store's integrity",
          .details =
              "Reads everything and compares it with itself; changes nothing, and others may go on "
              "writing.",
          .opens_store = true,
          .examples = {{"perdure check", "is it sound?"}},
          .schema = "perdure.check/1",
          .run = run_check};
}

Command salvage_command() {
  return {
      .name = "salvage",
      .summary = "Save what can still be read of a damaged store file",
      .details = "Ends with 6 if something of it is lost for good: the new store holds the rest.",
      .arguments = {{.name = "FROM",
                     .summary = "The damaged file; it is not changed",
                     .by = Completes::file},
                    {.name = "TO", .summary = "A new store", .by = Completes::file}},
      .exits = {Exit::not_found, Exit::damaged, Exit::unsupported},
      .examples = {{"perdure salvage agents.db saved.db", "then: perdure check --store saved.db"}},
      .schema = "perdure.salvage/1",
      .run = run_salvage};
}

Command backup_command() {
  return {.name = "backup",
          .summary = "Copy the store to a new file while others go on writing",
          .arguments = {{.name = "FILE", .summary = "The new file", .by = Completes::file}},
          .opens_store = true,
          .examples = {{"perdure backup monday.db", "restored by opening it"}},
          .schema = "perdure.backup/1",
          .run = run_backup};
}

Command doctor_command() {
  return {
      .name = "doctor",
      .summary = "Say what the store's promises rest on here",
      .details =
          "Ends with 1 if what was acknowledged may be lost. Of a server it can be asked before "
          "there is a store.",
      .opens_store = true,
      .examples = {{"perdure doctor", "before it is needed"}},
      .schema = "perdure.doctor/1",
      .run = run_doctor};
}

}  // namespace perdure::cli
