// Testing the integrity of a store.

#include <algorithm>

#include "verbs/table.hpp"

namespace perdure::cli {
namespace {

// A salvage mends a file. In one that is sound it would find what a check finds, and no more.
void advise(CommandContext& context, const CheckReport& report, const std::string& backend) {
  const bool is_of_the_file =
      std::ranges::find(report.damage, Fault::file, &Damage::fault) != report.damage.end();
  context.advice().line(
      !is_of_the_file ? loss_advice
      : backend == "sqlite"
          ? "What can still be read is saved into a new store by: perdure salvage "
            "FROM TO"
          : "The server cannot read its own files: restore a backup of it.");
}

Result<Exit> run_check(CommandContext& context, Store& store) {
  auto report = store.upkeep().check(context.progress("checking").follow());
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
  print_damage(context.screen(), report->damage);
  const Piece verdict =
      report->is_sound() ? Piece{"✓ sound", Ink::green}
                         : Piece{fmt::format("✗ {}", counted(report->found, "finding")), Ink::red};
  context.screen().line(
      {verdict,
       {fmt::format(": {}, {}, {}, {}, {} hashed", counted(report->sessions, "session"),
                    counted(report->commits, "commit"), counted(report->entries, "entry"),
                    counted(report->calls, "call"), bytes_text(report->bytes))}});
  if (report->is_sound()) return Exit::done;
  advise(context, *report, store.info().backend);
  return Exit::damaged;
}

}  // namespace

Command check_command() {
  return {.name = "check",
          .summary = "Test the store's integrity",
          .details =
              "Reads everything and compares it with itself; changes nothing, and others may go on "
              "writing.",
          .examples = {{"perdure check", "is it sound?"}},
          .schema = "perdure.check/1",
          .body = on_store(run_check)};
}

}  // namespace perdure::cli
