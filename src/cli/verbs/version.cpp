// Which version this is.

#include "command/help.hpp"
#include "store/api/location.hpp"
#include "verbs/table.hpp"

namespace perdure::cli {
namespace {

Result<Exit> run_version(CommandContext& context) {
  const BuildInfo build = build_info();
  context.screen().line(fmt::format("perdure {}", build.version));
  Json backends = json_list(built_backends(), [](const BuiltBackend& backend) {
    return Json::Object{
        {"name", backend.name}, {"library", backend.library}, {"format", backend.format}};
  });
  context.output().document("perdure.version/1",
                            {{"version", build.version},
                             {"commit", build.commit.empty() ? Json(nullptr) : Json(build.commit)},
                             {"compiler", build.compiler},
                             {"build_type", build.build_type},
                             {"backends", std::move(backends)}});
  return Exit::done;
}

}  // namespace

Command version_command() {
  return {.name = "version",
          .summary = "Say which version this is",
          .details =
              "With --json also what it is built of: commit, compiler, engines, and the formats "
              "that stores are written in.",
          .schema = "perdure.version/1",
          .body = {.run = run_version}};
}

}  // namespace perdure::cli
