// Testing the integrity of a store.

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <string>
#include <vector>

#include "perdure/store/upkeep.hpp"
#include "screen/as_json.hpp"
#include "screen/display.hpp"
#include "screen/progress.hpp"
#include "verbs/table.hpp"

namespace perdure::cli {
namespace {

// A salvage mends a file. In one that is sound it would find what a check finds, and no more.
void advise(CommandContext& context, const CheckReport& report, const std::string& backend) {
  const bool is_of_the_file =
      std::ranges::find(report.damage, Fault::file, &Damage::fault) != report.damage.end();
  if (is_of_the_file && backend == "sqlite") {
    context.talk().line(
        "What can still be read is saved into a new store by: perdure salvage FROM TO");
  } else if (is_of_the_file) {
    context.talk().line("The server cannot read its own files: restore a backup of it.");
  } else {
    context.talk().line(loss_advice);
  }
}

void print_report(CommandContext& context, const CheckReport& report, const std::string& backend) {
  print_damage(context.screen(), report.damage);
  const std::string looked = fmt::format(
      "{}, {}, {}, {}, {} hashed", counted(report.sessions, "session"),
      counted(report.commits, "commit"),
      report.entries == 1
          ? "1 entry"
          : fmt::format("{} entries", grouped(static_cast<std::int64_t>(report.entries))),
      counted(report.calls, "call"), bytes_text(report.bytes));
  if (report.is_sound()) {
    context.screen().line({{"✓ sound", Ink::green}, {fmt::format(": {}", looked)}});
  } else {
    context.screen().line({{fmt::format("✗ {}", counted(report.found, "finding")), Ink::red},
                           {fmt::format(": {}", looked)}});
    advise(context, report, backend);
  }
}

Result<Exit> run_check(CommandContext& context) {
  auto store = context.open();
  if (!store) return forward(store);
  auto report = [&] {
    ProgressBar bar(context.talk(), *context.io().clock, "checking");
    return (*store)->upkeep().check(bar.follow());
  }();
  if (!report) return forward(report);
  context.output().document("perdure.check/1", {{"sound", report->is_sound()},
                                                {"sessions", report->sessions},
                                                {"commits", report->commits},
                                                {"entries", report->entries},
                                                {"calls", report->calls},
                                                {"blobs", report->blobs},
                                                {"bytes", report->bytes},
                                                {"found", report->found},
                                                {"damage", as_json(report->damage)}});
  if (!context.output().is_json()) print_report(context, *report, (*store)->info().backend);
  return report->is_sound() ? Exit::done : Exit::damaged;
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

}  // namespace perdure::cli
