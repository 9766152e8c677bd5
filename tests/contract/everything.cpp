// Reads a whole store, through the public methods only.

#include "contract/everything.hpp"

#include "contract/describe.hpp"
#include "store/api/lookup.hpp"

namespace perdure {
namespace {

LogQuery only(Position position) {
  LogQuery query;
  query.as_of = Point::position(position);
  query.from = position;
  return query;
}

std::string history(Store& store, const SessionSummary& session) {
  std::string text =
      "line to head " + describe(store.lookup().line(session.id, Point::head())) + "\n";
  text += "log " + describe(store.log().read(session.id, {})) + "\n";
  for (Position position = 1; position < session.next; ++position) {
    text += "at " + describe(store.log().read(session.id, only(position))) + "\n";
  }
  const auto checkpoints = store.log().checkpoints(session.id, {});
  text += "checkpoints " + describe(checkpoints) + "\n";
  for (Version version = 1; version <= session.version; ++version) {
    text += describe(store.lookup().line(session.id, Point::version(version))) + "\n";
  }
  return text;
}

}  // namespace

std::string everything(Store& store) {
  SessionQuery all;
  all.sort = SessionSort::created;
  all.descending = false;
  all.limit = limit_max;
  const auto page = store.sessions().list(all);
  if (!page) return describe(page.error());

  std::string text;
  for (const SessionSummary& session : page->sessions) {
    text += describe(session) + "\n" + history(store, session);
    text += "inbox " + describe(store.inbox().list(session.id, limit_max)) + "\n";
  }
  return text + "calls " + describe(store.ledger().list({})) + "\n";
}

}  // namespace perdure
