// Deleting sessions and versions. Asks first.

#include "context/calls.hpp"
#include "verbs/table.hpp"

namespace perdure::cli {
namespace {

// The process that runs it can be stopped. A call that was never made needs no decision: it is
// given up.
Error with_next_command(const CommandContext& context, Store& store, const SessionId& id,
                        Error error) {
  if (error.code == ErrorCode::lease_held) {
    error.message += ". To stop it: " + context.command("pause " + context.short_id(id.text()));
    return error;
  }
  const auto colon = error.subject.rfind(':');
  if (error.code != ErrorCode::conflict || colon == std::string::npos) return error;
  const auto position = number_from(error.subject.substr(colon + 1));
  if (!position) return error;
  const auto call = store.ledger().read(id, static_cast<Position>(*position));
  if (!call) return error;
  error.message =
      call->state == CallState::intended
          ? fmt::format("call {} was asked for and not made yet; give it up first: {}",
                        error.subject, context.command("cancel " + id.text()))
          : fmt::format("{}: {}", error.message, settle_command(context, error.subject));
  return error;
}

// How many bytes it freed.
Result<std::uint64_t> remove_one(const CommandContext& context, Store& store,
                                 const PlaceInSession& place) {
  const SessionId& id = place.session.id;
  if (place.version) {
    auto pruned = store.upkeep().forget(id, *place.version);
    if (!pruned) return forward(pruned);
    return pruned->bytes;
  }
  auto freed = store.upkeep().remove(id);
  if (freed) return freed->bytes;
  return std::unexpected(with_next_command(context, store, id, std::move(freed).error()));
}

// Of several names one may be gone since an earlier try: a repeat has to leave it out.
Error with_nothing_done(const CommandContext& context, Error error) {
  if (error.code != ErrorCode::not_found || context.given().arguments.size() == 1) return error;
  error.message += ". Nothing was deleted: leave out what is gone, and the others go";
  return error;
}

Result<std::vector<PlaceInSession>> places_to_remove(const CommandContext& context, Store& store) {
  std::vector<PlaceInSession> places;
  for (const std::string& text : context.given().arguments) {
    auto place = find_point(store, text);
    if (!place) return std::unexpected(with_nothing_done(context, std::move(place).error()));
    if (!place->version && !place->is_whole) {
      return misuse(fmt::format("{} is neither a session nor a version of one", text));
    }
    if (!place->version) place->name = place->session.id.text();
    places.push_back(*std::move(place));
  }
  return places;
}

Result<Exit> run_delete(CommandContext& context, Store& store) {
  auto places = places_to_remove(context, store);
  if (!places) return forward(places);
  for (const PlaceInSession& place : *places) {
    context.advice().line(fmt::format("{}  {}", place.name, place.session.title));
  }
  const bool is_dry = context.given().has("dry-run");
  if (!is_dry &&
      !context.confirms(fmt::format("Delete {} for ever?", places->size() == 1 ? "it" : "these")))
    return Exit::unconfirmed;
  context.output().begin_list("perdure.deleted/1");
  for (const PlaceInSession& place : *places) {
    auto bytes = is_dry ? std::uint64_t{0} : remove_one(context, store, place);
    if (!bytes) return forward(bytes);
    context.output().item(
        Json::Object{{"what", place.name}, {"deleted", !is_dry}, {"bytes", *bytes}});
    context.screen().line(is_dry ? fmt::format("Would delete {}; nothing was done.", place.name)
                                 : fmt::format("Deleted {} ({}).", place.name, bytes_text(*bytes)));
  }
  context.output().end_list();
  return Exit::done;
}

}  // namespace

Command delete_command() {
  return {.name = "delete",
          .summary = "Delete sessions, or versions of them",
          .details =
              "Refused while the session is running or a call of it is unresolved. Forks keep what "
              "they share; keys that its calls hold stay taken. `perdure rm` is the same command.",
          .arguments = {{.name = "SES",
                         .summary = "A session, or a version of it: SES@v3",
                         .count = Argument::Count::some,
                         .by = Completes::session}},
          .options = {{.name = "dry-run", .summary = "Only say what would go"}},
          .exits = {Exit::unconfirmed},
          .examples = {{"perdure delete ses_5d0c --yes", "without a question"}},
          .schema = "perdure.deleted/1",
          .fields = {"what", "deleted", "bytes"},
          .body = on_store(run_delete)};
}

}  // namespace perdure::cli
