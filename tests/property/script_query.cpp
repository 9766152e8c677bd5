// What the random steps ask: lists page by page, logs as of any point, calls, blobs.

#include "contract/describe.hpp"
#include "perdure/store/log.hpp"
#include "property/script.hpp"
#include "store/api/lookup.hpp"
#include "store/api/seam.hpp"

namespace perdure {
namespace {

std::string all_pages(Store& store, SessionQuery query) {
  std::string text;
  for (int pages = 0; pages < 50; ++pages) {
    const auto page = store.sessions().list(query);
    text += describe(page) + "\n";
    if (!page || page->next.empty()) return text;
    query.cursor = page->next;
  }
  return text + "endless";
}

}  // namespace

Action Script::list() {
  SessionQuery query;
  query.sort = static_cast<SessionSort>(dice_.below(5));
  query.descending = dice_.chance(50);
  query.limit = dice_.chance(5) ? 0 : dice_.between(1, 6);
  if (dice_.chance(20)) query.statuses.push_back(static_cast<Status>(dice_.below(6)));
  if (dice_.chance(20)) query.statuses.push_back(Status::active);
  if (dice_.chance(15)) query.needs_attention = dice_.chance(50);
  if (dice_.chance(15)) query.parent = some_session();
  if (dice_.chance(15)) query.tag = dice_.pick({"red", "blue", "x\"y", "re"});
  if (dice_.chance(15)) query.contains = dice_.pick({"alpha", "BETA", "%", "_", "ÄÖ", "'"});
  if (dice_.chance(15)) query.id_prefix = some_session().text().substr(0, dice_.between(0, 5));
  if (dice_.chance(3)) query.cursor = "nonsense";
  return {"list", [=](Store& store) { return all_pages(store, query); }};
}

Action Script::due() {
  const std::size_t limit = dice_.between(0, 12);
  return {"due", [=](Store& store) { return describe(store.sessions().due(limit)); }};
}

Action Script::read() {
  const SessionId session = some_session();
  LogQuery query;
  query.as_of = some_point(session);
  if (dice_.chance(40)) query.from = some_position(session);
  if (dice_.chance(40)) query.to = some_position(session);
  if (dice_.chance(40)) query.channel = dice_.pick({"transcript", "plan", "x y", "none"});
  if (dice_.chance(50)) query.order = Order::newest_first;
  if (dice_.chance(40)) query.limit = dice_.between(0, 5);
  return {"read " + session.text() + " as of " + describe(query.as_of),
          [=](Store& store) { return describe(store.log().read(session, query)); }};
}

Action Script::look() {
  const SessionId session = some_session();
  const Point point = some_point(session);
  const std::string about = session.text() + " as of " + describe(point);
  switch (dice_.below(5)) {
    case 0:
      return {"line of " + about,
              [=](Store& store) { return describe(store.lookup().line(session, point)); }};
    case 1: {
      CheckpointQuery query;
      if (dice_.chance(40)) query.before = dice_.between(0, 6);
      if (dice_.chance(40)) query.label = dice_.pick({"a", "b", "c"});
      if (dice_.chance(40)) query.metadata = {{"n", Json(1)}};
      query.limit = dice_.between(0, 4);
      return {"checkpoints of " + session.text(),
              [=](Store& store) { return describe(store.log().checkpoints(session, query)); }};
    }
    case 2: {
      const Version version = dice_.between(dice_.below(2), 3);
      return {"checkpoint of " + session.text(), [=](Store& store) {
                return describe(store.log().read_checkpoint(session, version));
              }};
    }
    default: {
      const std::string channel = dice_.pick({"transcript", "plan", "x y", "none"});
      return {"value of " + channel + " in " + about, [=](Store& store) {
                return describe(store.log().find_value(session, channel, point));
              }};
    }
  }
}

Action Script::ledger() {
  const Digest key = sha256(dice_.pick({"k1", "k2", "k3", "none"}));
  const SessionId session = some_session();
  switch (dice_.below(4)) {
    case 0:
      return {"holder", [=](Store& store) { return describe(store.ledger().find_holder(key)); }};
    case 1:
      return {"by key", [=](Store& store) { return describe(store.lookup().by_key(key)); }};
    case 2: {
      Position at = some_position(session);
      const auto known = oracle_.ledger().list({.session = {}, .states = {}});
      for (const Call& one : *known) {
        if (one.session == session && dice_.chance(50)) at = one.position;
      }
      return {"call", [=](Store& store) { return describe(store.ledger().read(session, at)); }};
    }
    default: {
      CallQuery query;
      if (dice_.chance(50)) query.session = session;
      if (dice_.chance(50)) query.states = {static_cast<CallState>(dice_.below(8))};
      if (dice_.chance(50)) query.states.push_back(CallState::in_doubt);
      if (dice_.chance(30)) query.after = CallId{some_session(), some_position(session)};
      query.limit = dice_.between(0, 10);
      return {"calls", [=](Store& store) { return describe(store.ledger().list(query)); }};
    }
  }
}

Action Script::blob() {
  if (blobs_.empty() || dice_.chance(40)) {
    const std::string bytes = dice_.bytes(dice_.below(100));
    blobs_.push_back({sha256(bytes), bytes.size()});
    return {"put blob", [=](Store& store) { return describe(store.blobs().put(bytes)); }};
  }
  BlobRef ref = dice_.chance(90) ? dice_.pick(blobs_) : BlobRef{sha256("never put"), 9};
  if (dice_.chance(10)) ++ref.size;
  const std::uint64_t offset = dice_.below(120);
  const std::uint64_t size = dice_.below(120);
  return {"read blob", [=](Store& store) {
            return describe(store.blobs().read(ref, offset, size)) +
                   describe(has_blob(store.blobs(), ref)) + describe(store.blobs().get(ref));
          }};
}

}  // namespace perdure
