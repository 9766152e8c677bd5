// Importing sessions from a bundle.

#include "store/api/bundle.hpp"
#include "verbs/table.hpp"

namespace perdure::cli {
namespace {

// What an error says of the file is about the stream that it was read from.
Error told_of_stream(Error error, const std::string& path) {
  if (const auto at = error.message.find(path); at != std::string::npos)
    error.message.replace(at, path.size(), "stdin");
  if (error.subject == path) error.subject = "-";
  return error;
}

// A store is not made for an invalid bundle.
Result<Store*> store_for(CommandContext& context, const std::string& path,
                         const Progress& progress) {
  auto store = context.open();
  if (store || store.error().code != ErrorCode::not_found) return store;
  if (auto checked = check_bundle(path, progress); !checked) return forward(checked);
  return context.open_or_make();
}

Result<BundleReport> read_bundle(CommandContext& context, const std::string& path) {
  const bool only_looks = context.given().has("dry-run");
  ProgressBar bar = context.progress(only_looks ? "checking" : "importing");
  if (only_looks) return check_bundle(path, bar.follow());
  auto store = store_for(context, path, bar.follow());
  if (!store) return forward(store);
  return import_bundle(**store, path,
                       {.with_damage = context.given().has("with-damage"),
                        .accept_claims = context.given().has("accept-claims")},
                       bar.follow());
}

// It is read more than once, so it is kept until then.
Result<BundleReport> read_from_stdin(CommandContext& context) {
  if (context.io().in == nullptr || context.io().is_in_terminal) {
    return misuse("import - reads a bundle from a pipe, and stdin is a terminal: name a file");
  }
  auto file = SpooledFile::make(context.io());
  if (!file) return forward(file);
  if (auto filled = file->fill(*context.io().in); !filled) return forward(filled);
  auto report = read_bundle(context, file->path());
  if (report) return report;
  return std::unexpected(told_of_stream(std::move(report).error(), file->path()));
}

Result<Exit> run_import(CommandContext& context) {
  const std::string& file = context.given().arguments.front();
  auto path = file == "-" ? file : file_path(file, context.io().folder);
  if (!path) return forward(path);
  auto report = file == "-" ? read_from_stdin(context) : read_bundle(context, *path);
  if (!report) return forward(report);
  context.output().document("perdure.bundle/1", bundle_members(file, *report));
  const bool only_looks = context.given().has("dry-run");
  context.screen().line(fmt::format("{} {}; every sum is right.",
                                    only_looks ? "Would import" : "Imported",
                                    bundle_words(*report)));
  if (only_looks) return Exit::done;
  context.advice().line(
      "They are copies, so unfinished ones are paused: the originals may still run.");
  context.advice().line(
      "Their agents come from the bundle and are not trusted: resume with --agent FILE, or "
      "--accept-agent.");
  context.advise_next(context.command("sessions"));
  return Exit::done;
}

}  // namespace

Command import_command() {
  return {
      .name = "import",
      .summary = "Import sessions from a bundle",
      .details =
          "All of them or none, and only if every sum is right. They are copies: unfinished ones "
          "arrive paused. The maker of the file chose their agents, which are neither "
          "asked nor run until you accept them. What their calls say they did is not "
          "believed either: a call here that would do the same waits until you decide (perdure "
          "pending). With --dry-run the file is only checked.",
      .arguments = {{.name = "FILE", .summary = "The bundle; - is stdin", .by = Completes::file}},
      .options = {{.name = "dry-run", .summary = "Only check the file"},
                  {.name = "accept-claims",
                   .summary = "Believe what its calls say they did, and never do it again: for "
                              "bundles of your own"},
                  {.name = "with-damage",
                   .summary = "Import sessions that were damaged when they were exported"}},
      .examples = {{"perdure import bug.bundle --store look.db", "into a store of its own"}},
      .schema = "perdure.bundle/1",
      .body = {.run = run_import, .opens_store = true}};
}

}  // namespace perdure::cli
