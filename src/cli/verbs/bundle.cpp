// Sessions as one file, out and in.

#include "perdure/store/bundle.hpp"

#include <expected>
#include <fmt/format.h>
#include <string>
#include <utility>

#include "command/command.hpp"
#include "command/table.hpp"
#include "desk.hpp"
#include "exit.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/store/store.hpp"
#include "perdure/store/upkeep.hpp"
#include "place/passing_file.hpp"
#include "place/path.hpp"
#include "place/reference.hpp"
#include "screen/progress_bar.hpp"
#include "screen/words.hpp"
#include "verbs/relatives.hpp"

namespace perdure::cli {
namespace {

void show_bundle(Desk& desk, const std::string& file, const BundleReport& report) {
  Json::Array sessions;
  for (const SessionId& id : report.sessions) sessions.emplace_back(id.text());
  desk.output().document("perdure.bundle/1", {{"file", file},
                                              {"sessions", std::move(sessions)},
                                              {"entries", report.entries},
                                              {"calls", report.calls},
                                              {"blobs", report.blobs},
                                              {"bytes", report.bytes},
                                              {"digest", to_hex(report.digest)}});
}

std::string summary_of(const BundleReport& report) {
  return fmt::format("{}, {} entries, {}", counted(report.sessions.size(), "session"),
                     report.entries, counted(report.calls, "call"));
}

Result<ExportOptions> export_options(Desk& desk, Store& store) {
  ExportOptions options{.with_relatives = desk.given().has("with-relatives"),
                        .with_damage = desk.given().has("with-damage")};
  for (const std::string& name : desk.given().arguments) {
    auto row = find_session(store, name);
    if (!row) return forward(row);
    options.sessions.push_back(row->id);
  }
  return options;
}

std::unexpected<Error> usage(std::string message) {
  return fail(ErrorCode::invalid_argument, std::move(message));
}

// What an error says of the file is meant of the stream that it stands for.
template <typename T>
Result<T> told_of_stream(Result<T> result, const std::string& path) {
  if (result) return result;
  Error error = std::move(result).error();
  if (const auto at = error.message.find(path); at != std::string::npos)
    error.message.replace(at, path.size(), "stdin");
  if (error.subject == path) error.subject = "-";
  return std::unexpected(std::move(error));
}

Result<BundleReport> write_bundle(Desk& desk, Store& store, const std::string& path,
                                  const ExportOptions& options) {
  ProgressBar bar(desk.talk(), *desk.world().clock, "exporting");
  auto report = export_sessions(store, path, options, bar.follow());
  if (!report) return with_hint_of_relatives(report.error(), options.with_relatives);
  return report;
}

Result<void> check_stdout(Desk& desk) {
  if (desk.output().is_json()) {
    return usage(
        "-o - writes the bundle to stdout, and so there is no place for JSON: say -o FILE");
  }
  if (desk.world().is_out_terminal) {
    return usage("a bundle is not for terminals: say -o FILE, or pipe it to somebody");
  }
  return {};
}

// Nobody gets a byte before it is whole: what is half a bundle looks like one for long.
Result<Exit> export_to_stdout(Desk& desk, Store& store, const ExportOptions& options) {
  auto file = PassingFile::make(desk.world());
  if (!file) return forward(file);
  auto report = write_bundle(desk, store, file->path(), options);
  if (!report) return forward(report);
  if (auto poured = file->pour(desk.world().out); !poured) return forward(poured);
  desk.talk().line(fmt::format("Exported {} to stdout.", summary_of(*report)));
  return Exit::done;
}

Result<Exit> export_to_file(Desk& desk, Store& store, const ExportOptions& options) {
  const std::string file = *desk.given().find("output");
  auto path = file_path(file, desk.world().folder);
  if (!path) return forward(path);
  auto report = write_bundle(desk, store, *path, options);
  if (!report) return forward(report);
  show_bundle(desk, file, *report);
  if (desk.output().is_json()) return Exit::done;
  desk.screen().line(fmt::format("Exported {} to {}.", summary_of(*report), file));
  desk.talk().line("It is a copy: the sessions here go on as before.");
  return Exit::done;
}

Result<Exit> run_export(Desk& desk) {
  const auto file = desk.given().find("output");
  if (!file) {
    return usage(
        "export writes a file: say which, as in --output refunds.bundle; --output - is stdout");
  }
  const bool is_stdout = *file == "-";
  if (is_stdout) {
    if (auto free = check_stdout(desk); !free) return forward(free);
  }
  auto store = desk.open();
  if (!store) return forward(store);
  auto options = export_options(desk, **store);
  if (!options) return forward(options);
  return is_stdout ? export_to_stdout(desk, **store, *options)
                   : export_to_file(desk, **store, *options);
}

// A store is not made for a bundle that is none.
Result<Store*> store_for(Desk& desk, const std::string& path, const Progress& progress) {
  auto store = desk.open();
  if (store || store.error().code != ErrorCode::not_found) return store;
  if (auto checked = check_bundle(path, progress); !checked) return forward(checked);
  return desk.open_or_make();
}

Result<BundleReport> read_bundle(Desk& desk, const std::string& path) {
  const bool only_looks = desk.given().has("dry-run");
  ProgressBar bar(desk.talk(), *desk.world().clock, only_looks ? "checking" : "importing");
  if (only_looks) return check_bundle(path, bar.follow());
  auto store = store_for(desk, path, bar.follow());
  if (!store) return forward(store);
  return import_bundle(**store, path,
                       {.with_damage = desk.given().has("with-damage"),
                        .accept_claims = desk.given().has("accept-claims")},
                       bar.follow());
}

// It is read more than once, so it is kept until then.
Result<BundleReport> read_from_stdin(Desk& desk) {
  if (desk.world().in == nullptr || desk.world().is_in_terminal) {
    return usage("import - reads a bundle from a pipe, and stdin is a terminal: name a file");
  }
  auto file = PassingFile::make(desk.world());
  if (!file) return forward(file);
  if (auto filled = file->fill(*desk.world().in); !filled) return forward(filled);
  return told_of_stream(read_bundle(desk, file->path()), file->path());
}

Result<BundleReport> read_from_file(Desk& desk, const std::string& file) {
  auto path = file_path(file, desk.world().folder);
  if (!path) return forward(path);
  return read_bundle(desk, *path);
}

Result<Exit> run_import(Desk& desk) {
  const std::string& file = desk.given().arguments.front();
  const bool only_looks = desk.given().has("dry-run");
  auto report = file == "-" ? read_from_stdin(desk) : read_from_file(desk, file);
  if (!report) return forward(report);
  show_bundle(desk, file, *report);
  if (desk.output().is_json()) return Exit::done;
  desk.screen().line(fmt::format("{} {}; every sum is right.",
                                 only_looks ? "Would import" : "Imported", summary_of(*report)));
  if (!only_looks) {
    desk.talk().line(
        "They are copies, so unfinished ones are paused: nobody here knows what the originals do.");
    desk.talk().line(
        "Whoever made the bundle chose their agents: resume one with --agent FILE, or "
        "--accept-agent.");
    desk.talk().line("Next: " + desk.command("sessions"));
  }
  return Exit::done;
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
      .examples = {{"perdure export @last -o bug.bundle", "for whoever looks into it"},
                   {"perdure export @last -o - | ssh there perdure import -", "without a file"}},
      .schema = "perdure.bundle/1",
      .run = run_export};
}

Command import_command() {
  return {
      .name = "import",
      .summary = "Take sessions in out of such a file",
      .details =
          "All of them or none, and only if every sum is right. They are copies: unfinished "
          "ones arrive\n"
          "paused. Whoever made the file chose which agents they are of: those are neither "
          "asked nor run until\n"
          "somebody accepts them. What their calls say they did is not believed either: a call "
          "here "
          "that\n"
          "would do the same waits until you decide (perdure pending). With --dry-run the file is "
          "only checked.",
      .arguments = {{.name = "FILE", .summary = "The bundle; - is stdin", .by = Completes::file}},
      .options = {{.name = "dry-run", .summary = "Only check the file"},
                  {.name = "accept-claims",
                   .summary = "Believe what its calls say they did, and never do it again: for "
                              "bundles of your own"},
                  {.name = "with-damage",
                   .summary = "Take in sessions that were damaged when they were exported"}},
      .opens_store = true,
      .examples = {{"perdure import bug.bundle --store look.db", "into a store of its own"}},
      .schema = "perdure.bundle/1",
      .run = run_import};
}

}  // namespace perdure::cli
