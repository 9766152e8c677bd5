// Writing sessions to one file.

#include "store/api/bundle.hpp"
#include "verbs/table.hpp"

namespace perdure::cli {
namespace {

Result<BundleReport> write_bundle(CommandContext& context, Store& store, const std::string& path) {
  ExportOptions options{.with_relatives = context.given().has("with-relatives"),
                        .with_damage = context.given().has("with-damage")};
  auto rows = named_sessions(context, store, 0);
  if (!rows) return forward(rows);
  for (const SessionSummary& row : *rows) options.sessions.push_back(row.id);
  auto report = export_sessions(store, path, options, context.progress("exporting").follow());
  if (!report) return with_hint_of_relatives(report.error(), options.with_relatives);
  return report;
}

Result<void> check_export(CommandContext& context) {
  const auto file = context.given().find("output");
  if (!file) {
    return misuse(
        "export writes a file: say which, as in --output refunds.bundle; --output - is stdout");
  }
  if (*file != "-") return checked(file_path(*file, context.io().folder));
  if (context.output().is_json()) {
    return misuse(
        "-o - writes the bundle to stdout, and so there is no place for JSON: say -o FILE");
  }
  if (!context.io().is_out_terminal) return {};
  return misuse("a bundle is not for terminals: say -o FILE, or pipe it");
}

// Not a byte is written before the bundle is whole: half a bundle looks like a whole one at first.
Result<Exit> export_to_stdout(CommandContext& context, Store& store) {
  auto file = SpooledFile::make(context.io());
  if (!file) return forward(file);
  auto report = write_bundle(context, store, file->path());
  if (!report) return forward(report);
  if (auto poured = file->pour(context.io().out); !poured) return forward(poured);
  context.talk().line(fmt::format("Exported {} to stdout.", bundle_words(*report)));
  return Exit::done;
}

Result<Exit> run_export(CommandContext& context, Store& store) {
  const std::string file = context.given().find("output").value_or("-");
  if (file == "-") return export_to_stdout(context, store);
  auto report = write_bundle(context, store, whole_path(file, context.io().folder));
  if (!report) return forward(report);
  context.output().document("perdure.bundle/1", bundle_members(file, *report));
  context.screen().line(fmt::format("Exported {} to {}.", bundle_words(*report), file));
  context.advice().line("It is a copy: the sessions here go on as before.");
  return Exit::done;
}

}  // namespace

Command export_command() {
  return {
      .name = "export",
      .summary = "Write sessions to one file",
      .details =
          "With log, versions, ledger, inbox and blobs, and a sum over every part. The sessions "
          "stay here and go on. Forks, children and their parents go together.",
      .arguments = {sessions_argument},
      .options = {{.name = "output",
                   .value = "FILE",
                   .summary = "The file; - is stdout",
                   .letter = 'o',
                   .by = Completes::file},
                  {.name = "with-relatives", .summary = "Take whole families along"},
                  {.name = "with-damage", .summary = "Take damaged sessions along as they are"}},
      .examples = {{"perdure export @last -o bug.bundle", "to debug it elsewhere"},
                   {"perdure export @last -o - | ssh there perdure import -", "without a file"}},
      .schema = "perdure.bundle/1",
      .check = check_export,
      .body = on_store(run_export)};
}

}  // namespace perdure::cli
