// Writing sessions to one file.

#include <expected>
#include <fmt/format.h>
#include <string>

#include "context/options.hpp"
#include "context/sessions.hpp"
#include "context/spooled_file.hpp"
#include "perdure/store/bundle.hpp"
#include "screen/as_json.hpp"
#include "screen/display.hpp"
#include "screen/progress.hpp"
#include "verbs/table.hpp"

namespace perdure::cli {
namespace {

std::unexpected<Error> usage(const std::string& message) {
  return fail(ErrorCode::invalid_argument, message);
}

Result<ExportOptions> export_options(CommandContext& context, Store& store) {
  ExportOptions options{.with_relatives = context.given().has("with-relatives"),
                        .with_damage = context.given().has("with-damage")};
  for (const std::string& name : context.given().arguments) {
    auto row = find_session(store, name);
    if (!row) return forward(row);
    options.sessions.push_back(row->id);
  }
  return options;
}

Result<BundleReport> write_bundle(CommandContext& context, Store& store, const std::string& path,
                                  const ExportOptions& options) {
  ProgressBar bar(context.talk(), *context.io().clock, "exporting");
  auto report = export_sessions(store, path, options, bar.follow());
  if (!report) return with_hint_of_relatives(report.error(), options.with_relatives);
  return report;
}

Result<void> check_stdout(CommandContext& context) {
  if (context.output().is_json()) {
    return usage(
        "-o - writes the bundle to stdout, and so there is no place for JSON: say -o FILE");
  }
  if (context.io().is_out_terminal) {
    return usage("a bundle is not for terminals: say -o FILE, or pipe it");
  }
  return {};
}

// Nobody gets a byte before it is whole: what is half a bundle looks like one for long.
Result<Exit> export_to_stdout(CommandContext& context, Store& store, const ExportOptions& options) {
  auto file = SpooledFile::make(context.io());
  if (!file) return forward(file);
  auto report = write_bundle(context, store, file->path(), options);
  if (!report) return forward(report);
  if (auto poured = file->pour(context.io().out); !poured) return forward(poured);
  context.talk().line(fmt::format("Exported {} to stdout.", bundle_words(*report)));
  return Exit::done;
}

Result<Exit> export_to_file(CommandContext& context, Store& store, const ExportOptions& options) {
  const std::string file = *context.given().find("output");
  auto path = file_path(file, context.io().folder);
  if (!path) return forward(path);
  auto report = write_bundle(context, store, *path, options);
  if (!report) return forward(report);
  context.output().document("perdure.bundle/1", bundle_members(file, *report));
  if (context.output().is_json()) return Exit::done;
  context.screen().line(fmt::format("Exported {} to {}.", bundle_words(*report), file));
  context.talk().line("It is a copy: the sessions here go on as before.");
  return Exit::done;
}

Result<Exit> run_export(CommandContext& context) {
  const auto file = context.given().find("output");
  if (!file) {
    return usage(
        "export writes a file: say which, as in --output refunds.bundle; --output - is stdout");
  }
  const bool is_stdout = *file == "-";
  if (is_stdout) {
    if (auto free = check_stdout(context); !free) return forward(free);
  }
  auto store = context.open();
  if (!store) return forward(store);
  auto options = export_options(context, **store);
  if (!options) return forward(options);
  return is_stdout ? export_to_stdout(context, **store, *options)
                   : export_to_file(context, **store, *options);
}

}  // namespace

Command export_command() {
  return {
      .name = "export",
      .summary = "Write sessions to one file",
      .details =
          "With log, versions, ledger, inbox and blobs, and a sum over every part. The sessions "
          "stay here\n"
          "and go on. Forks, children and their parents go together.",
      .arguments = {{.name = "SES",
                     .summary = "The sessions; all if none is named",
                     .count = Argument::Count::any,
                     .by = Completes::session}},
      .options = {{.name = "output",
                   .value = "FILE",
                   .summary = "The file; - is stdout",
                   .letter = 'o',
                   .by = Completes::file},
                  {.name = "with-relatives", .summary = "Take whole families along"},
                  {.name = "with-damage", .summary = "Take damaged sessions along as they are"}},
      .opens_store = true,
      .examples = {{"perdure export @last -o bug.bundle", "to debug it elsewhere"},
                   {"perdure export @last -o - | ssh there perdure import -", "without a file"}},
      .schema = "perdure.bundle/1",
      .run = run_export};
}

}  // namespace perdure::cli
