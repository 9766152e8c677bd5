// The histories are longer than one slice of work, so that a death falls between slices
// too.

#include "crash/forgetting.hpp"

#include <fmt/format.h>
#include <stdexcept>
#include <vector>

#include "contract/describe.hpp"
#include "doubles/must.hpp"
#include "perdure/core/id.hpp"
#include "perdure/store/log.hpp"
#include "property/history_model.hpp"
#include "store/api/limits.hpp"
#include "store/api/lookup.hpp"

namespace perdure {
namespace {

template <class IdType>
IdType parsed(const std::string& text) {
  return *IdType::parse(text);
}

NewEntry entry(const std::string& channel, Fold fold, Body body) {
  return {.channel = channel,
          .kind = "value",
          .fold = fold,
          .body = std::move(body),
          .tally = {.turns = 1, .cost_micros = 7},
          .at = {}};
}

/// One session being written.
class ForgettingAuthor {
 public:
  ForgettingAuthor(Store& store, const NewSession& session, const WorkerId& worker)
      : store_(store) {
    must(store.sessions().create(session));
    lease_ = must(store.ownership().acquire(session.id, worker));
  }

  Position commit(Batch batch) {
    batch.id = parsed<BatchId>(fmt::format("{} {}", lease_.session.text(), ++batches_));
    const SessionSummary row = must(store_.sessions().read(lease_.session));
    batch.expected_head = row.head;
    must(store_.commit(lease_, batch));
    return row.next;
  }

  void talk(int turns, const std::string& label = {}) {
    Batch batch{.entries = {}, .checkpoint = NewCheckpoint{.label = label}};
    for (int i = 0; i < turns; ++i) {
      batch.entries.push_back(entry("plan", Fold::replace, Body::from_text(fmt::format("{}", i))));
    }
    batch.entries.push_back(entry("transcript", Fold::append, Body::from_text("\"said\"")));
    commit(batch);
  }

  void pay(const std::string& key) {
    const Position call = must(store_.sessions().read(lease_.session)).next;
    Batch batch{.entries = {entry("calls", Fold::append, Body::from_text("1")),
                            entry("calls", Fold::append, Body::from_text("2"))}};
    batch.calls = {Intend{.call = call, .args = call, .tool = "pay", .key = sha256(key)},
                   Dispatch{.call = call},
                   Settle{.call = call, .state = CallState::succeeded, .result = call + 1}};
    commit(batch);
  }

  void leave() { must(store_.ownership().release(lease_)); }

 private:
  Store& store_;
  Lease lease_;
  int batches_ = 0;
};

NewSession fork_of(const std::string& name, const std::string& parent, Point at) {
  NewSession session{.id = parsed<SessionId>(name)};
  session.origin = NewSession::Origin{.session = parsed<SessionId>(parent), .at = at};
  return session;
}

std::string seen_text(Store& store, const SessionId& session, Point point) {
  LogQuery query;
  query.as_of = point;
  std::string text = fmt::format("{} as of {}\n", session.text(), describe(point));
  for (Entry one : seen(must(store.log().read(session, query)))) {
    one.segment = 0;
    // Erased or not yet.
    one.condition = Condition::intact;
    one.body = Body();
    text += describe(one) + "\n";
  }
  return text;
}

bool is_settled(const Result<Freed>& result) {
  return result || result.error().code == ErrorCode::not_found;
}

}  // namespace

void fill(Store& store, FakeClock& clock) {
  const auto worker = parsed<WorkerId>("author");
  must(store.ownership().enroll({.id = worker, .host = "here", .pid = 1}));
  const BlobRef kept = must(store.blobs().put(std::string(30'000, 'k')));
  must(store.blobs().put(std::string(30'000, 'g')));

  ForgettingAuthor main(store, {.id = parsed<SessionId>("main")}, worker);
  main.commit({.entries = {entry("files", Fold::append, Body::from_blob(kept))}});
  for (int i = 0; i < 6; ++i) main.talk(60, i == 2 ? "named" : "");
  main.pay("key of main");
  main.commit({.branch_from = Point::version(5),
               .entries = {entry("plan", Fold::replace, Body::from_text("\"branch\""))},
               .checkpoint = NewCheckpoint{}});

  ForgettingAuthor gone(store, {.id = parsed<SessionId>("gone")}, worker);
  for (int i = 0; i < 5; ++i) gone.talk(60);
  gone.pay("key of gone");
  must(store.inbox().post({parsed<SessionId>("gone"), parsed<MessageId>("m"), "note", Body()}));
  ForgettingAuthor fork(store, fork_of("fork", "gone", Point::version(3)), worker);
  fork.talk(3);
  ForgettingAuthor last(store, fork_of("last", "fork", Point::head()), worker);
  last.talk(3);
  for (ForgettingAuthor* author : {&main, &gone, &fork, &last}) author->leave();
  must(store.ownership().retire(worker));
  clock.advance(blob_grace_min + Duration(1));
}

Result<void> forget_all(Store& store, FakeClock& clock,
                        const std::function<void(const std::string&)>& done) {
  clock.advance(blob_grace_min + Duration(1));
  Upkeep& retention = store.upkeep();
  const auto main = parsed<SessionId>("main");
  auto forgotten = retention.forget(main, 1);
  if (!forgotten && forgotten.error().code != ErrorCode::not_found) return forward(forgotten);
  done("forgot");
  auto pruned = retention.prune(main, {.last = 1});
  if (!pruned) return forward(pruned);
  done("pruned");
  auto erased = retention.erase(main, {must(store.sessions().read(main)).head});
  if (!erased) return forward(erased);
  done("erased");
  for (const char* name : {"gone", "fork"}) {
    auto removed = retention.remove(parsed<SessionId>(name));
    if (!is_settled(removed)) return forward(removed);
    done(fmt::format("removed {}", name));
  }
  auto collected = retention.collect_blobs(blob_grace_min);
  if (!collected) return forward(collected);
  done("collected");
  auto vacuumed = retention.vacuum();
  if (!vacuumed) return forward(vacuumed);
  done("vacuumed");
  return {};
}

std::string lasting(Store& store) {
  std::string text;
  for (const char* name : {"main", "last"}) {
    const auto session = parsed<SessionId>(name);
    const SessionSummary row = must(store.sessions().read(session));
    text += fmt::format("{} head {} next {} version {} {}\n", name, row.head, row.next, row.version,
                        describe(row.tally));
    text += seen_text(store, session, Point::head());
  }
  const auto main = parsed<SessionId>("main");
  for (const Version version : {3U, 7U}) {
    text += seen_text(store, main, Point::version(version));
    text += describe(store.log().read_checkpoint(main, version)) + "\n";
  }
  for (const char* key : {"key of main", "key of gone"}) {
    const auto holder = must(store.ledger().find_holder(sha256(key)));
    text += holder ? call_name(holder->session, holder->position) + "\n" : "free\n";
  }
  return text;
}

}  // namespace perdure
