// Holders, fences and revisions differ with every change of hands, and segments are
// numbered by the backend: all four are left out.

#include "crash/portrait.hpp"

#include "contract/describe.hpp"
#include "store/api/lookup.hpp"

namespace perdure {
namespace {

std::string entries_text(const Result<std::vector<Entry>>& entries) {
  if (!entries) return describe(entries.error());
  std::string text;
  for (Entry entry : *entries) {
    entry.segment = 0;
    text += "  " + describe(entry) + "\n";
  }
  return text;
}

// The line to each position: also what lies on lines that a branch has left.
std::string lines_of(Store& store, const SessionSummary& session) {
  std::string text = "log\n" + entries_text(store.log().read(session.id, {}));
  for (Position position = session.parent ? session.parent->position + 1 : 1;
       position < session.next; ++position) {
    LogQuery query;
    query.as_of = Point::position(position);
    query.order = Order::newest_first;
    query.limit = 2;
    text +=
        "to " + std::to_string(position) + "\n" + entries_text(store.log().read(session.id, query));
  }
  text += "checkpoints " + describe(store.log().checkpoints(session.id, {})) + "\n";
  return text + "plan " + [&] {
    auto value = store.log().find_value(session.id, "plan", Point::head());
    if (value && *value) (*value)->segment = 0;
    return describe(value);
  }() + "\n";
}

std::string calls_text(Store& store) {
  auto calls = store.ledger().list({});
  if (!calls) return describe(calls.error());
  for (Call& call : *calls) call.fence = 0;
  return describe(*calls);
}

}  // namespace

std::string portrait(Store& store, const AskFor& ask_for) {
  SessionQuery all;
  all.sort = SessionSort::created;
  all.descending = false;
  all.limit = limit_max;
  const auto page = store.sessions().list(all);
  if (!page) return describe(page.error());

  std::string text;
  for (SessionSummary session : page->sessions) {
    session.holder.reset();
    session.revision = 0;
    text += describe(session) + "\n" + lines_of(store, session);
    text += "inbox " + describe(store.inbox().list(session.id, limit_max)) + "\n";
  }
  text += "calls " + calls_text(store) + "\n";
  for (const auto& [session, batch] : ask_for.receipts) {
    const auto receipt = store.lookup().find_receipt(session, batch);
    text += batch.text() + ": " + (receipt ? describe(*receipt) : std::string("none")) + "\n";
  }
  for (const BlobRef& ref : ask_for.blobs) {
    const auto bytes = store.blobs().get(ref);
    text += bytes ? to_hex(sha256(*bytes)) + "\n" : describe(bytes.error()) + "\n";
  }
  return text;
}

}  // namespace perdure
