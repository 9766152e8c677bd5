// What a store's guarantees depend on in this environment.

#include <algorithm>

#include "store/api/location.hpp"
#include "store/api/seam.hpp"
#include "verbs/table.hpp"

namespace perdure::cli {
namespace {

void print_remark(CommandContext& context, const Remark& remark) {
  const bool is_fine = remark.gravity == Gravity::fine;
  const bool is_danger = remark.gravity == Gravity::danger;
  const Ink ink = is_danger ? Ink::red : is_fine ? Ink::green : Ink::yellow;
  const std::string_view icon = is_danger ? "✗" : is_fine ? "✓" : "!";
  context.screen().line({{fmt::format("{} {:<8} ", icon, to_string(remark.gravity)), ink},
                         {fmt::format("{}: {}", remark.topic, remark.what)}});
  if (!remark.advice.empty())
    context.screen().line({{fmt::format("           {}", remark.advice), Ink::dim}});
}

Exit print_doctor(CommandContext& context, const StoreInfo& info,
                  const std::vector<Remark>& remarks) {
  const bool is_dangerous =
      std::ranges::find(remarks, Gravity::danger, &Remark::gravity) != remarks.end();
  Json list = json_list(remarks, [](const Remark& remark) {
    return Json::Object{{"gravity", to_string(remark.gravity)},
                        {"topic", remark.topic},
                        {"what", remark.what},
                        {"advice", remark.advice}};
  });
  context.output().document(
      "perdure.doctor/1", {{"backend", info.backend},
                           {"location", info.location},
                           {"engine", info.engine},
                           {"format", info.format},
                           {"incarnation", info.incarnation},
                           {"durability", info.durability == Durability::full ? "full" : "process"},
                           {"remarks", std::move(list)}});
  const std::string format =
      info.format == 0 ? "no store yet" : fmt::format("format {}", info.format);
  context.screen().line(fmt::format("{} ({}, {})", info.location, info.engine, format));
  for (const Remark& remark : remarks) print_remark(context, remark);
  return is_dangerous ? Exit::failed : Exit::done;
}

// One wants to know it before the first run.
Result<Exit> look_at_server(CommandContext& context) {
  auto remarks = examine_server(context.location());
  if (!remarks) return forward(remarks);
  remarks->push_back({.gravity = Gravity::fine,
                      .topic = "store",
                      .what = "there is none in this schema yet",
                      .advice = "perdure run makes it"});
  return print_doctor(context,
                      {.backend = "postgres",
                       .location = shown_location(context.location()),
                       .engine = "PostgreSQL"},
                      *remarks);
}

Result<Exit> run_doctor(CommandContext& context) {
  auto store = context.open();
  const bool is_missing = !store && store.error().code == ErrorCode::not_found;
  if (is_missing && store.error().subject.empty() && is_address(context.location())) {
    return look_at_server(context);
  }
  if (!store) return forward(store);
  auto remarks = (*store)->doctor();
  if (!remarks) return forward(remarks);
  return print_doctor(context, (*store)->info(), *remarks);
}

}  // namespace

Command doctor_command() {
  return {.name = "doctor",
          .summary = "Check the environment the store's guarantees depend on",
          .details =
              "Ends with 1 if what was acknowledged may be lost. Of a server it can be asked "
              "before there is a store.",
          .examples = {{"perdure doctor", "before it is needed"}},
          .schema = "perdure.doctor/1",
          .body = {.run = run_doctor, .opens_store = true}};
}

}  // namespace perdure::cli
