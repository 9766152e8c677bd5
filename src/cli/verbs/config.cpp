// The settings, and where each comes from.

#include "store/api/location.hpp"
#include "verbs/table.hpp"

namespace perdure::cli {
namespace {

Result<Exit> run_config(CommandContext& context) {
  Output& output = context.output();
  output.begin_list("perdure.config/1");
  Table table({{.heading = "SETTING"}, {.heading = "VALUE"}, {.heading = "SET BY"}});
  for (const Setting& setting : context.settings()) {
    const std::string value = shown_location(setting.value);
    output.item(Json::Object{{"key", setting.key}, {"value", value}, {"origin", setting.origin}});
    table.add({{setting.key, Ink::bold}, {value}, {setting.origin, Ink::dim}});
  }
  output.end_list();
  table.print(context.screen());
  return Exit::done;
}

}  // namespace

Command config_command() {
  return {.name = "config",
          .summary = "Show settings and where each comes from",
          .details =
              "A setting comes from its flag, else from the environment (PERDURE_STORE, "
              "PERDURE_COLOR), else from .perdure/config in this folder or one above it, else from "
              "$XDG_CONFIG_HOME/perdure/config, else it is the default. These files have lines "
              "`key = value`. The default store is .perdure/store of the project, if there is one, "
              "else $XDG_DATA_HOME/perdure/store.db.",
          .examples = {{"perdure config", "where the store is, and why there"}},
          .schema = "perdure.config/1",
          .fields = {"key", "value", "origin"},
          .body = {.run = run_config}};
}

}  // namespace perdure::cli
