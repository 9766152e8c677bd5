// Which steps there are, how often, and who takes part in them. What they write is
// chosen in script_batch.cpp, what they ask in script_query.cpp,
// what they forget in script_retention.cpp.

#include "property/script.hpp"

#include <array>

#include "contract/describe.hpp"
#include "store/api/lookup.hpp"

namespace perdure {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t sessions_max = 10;
constexpr std::size_t workers_max = 5;

}  // namespace

Script::Script(std::uint64_t seed, Store& oracle, FakeClock& clock)
    : dice_(seed), oracle_(oracle), clock_(clock) {}

Action Script::next() {
  for (const SessionId& id : proposed_) {
    if (oracle_.sessions().read(id)) sessions_.push_back(id);
  }
  proposed_.clear();
  std::erase_if(sessions_, [&](const SessionId& id) {
    const bool is_gone = !oracle_.sessions().read(id);
    if (is_gone) removed_.push_back(id);
    return is_gone;
  });
  if (sessions_.empty()) return create();
  if (workers_.empty()) return worker();
  if (dice_.chance(5)) pass_time();
  using Choice = Action (Script::*)();
  struct Weighted {
    std::uint64_t weight;
    Choice choice;
  };
  static constexpr std::array choices = {
      Weighted{36, &Script::commit}, Weighted{14, &Script::read},    Weighted{12, &Script::own},
      Weighted{8, &Script::look},    Weighted{7, &Script::post},     Weighted{6, &Script::list},
      Weighted{6, &Script::create},  Weighted{5, &Script::ledger},   Weighted{5, &Script::repeat},
      Weighted{4, &Script::worker},  Weighted{4, &Script::resource}, Weighted{3, &Script::annotate},
      Weighted{3, &Script::due},     Weighted{3, &Script::blob},     Weighted{7, &Script::prune},
      Weighted{2, &Script::erase},   Weighted{3, &Script::remove},   Weighted{1, &Script::collect},
  };
  std::uint64_t total = 0;
  for (const Weighted& one : choices) total += one.weight;
  std::uint64_t thrown = dice_.below(total);
  for (const Weighted& one : choices) {
    if (thrown < one.weight) return (this->*one.choice)();
    thrown -= one.weight;
  }
  return commit();
}

void Script::pass_time() {
  static const std::vector<Duration> steps{1ms, 1s, 1s, 1s, 10s, 10s, 29'999ms, 30s, 31s};
  if (dice_.chance(10)) {
    clock_.set_wall(clock_.now() - 5s);
  } else {
    clock_.advance(dice_.pick(steps));
  }
}

SessionId Script::some_session() {
  if (dice_.chance(2)) return SessionId::parse("nobody").value();
  return dice_.pick(sessions_);
}

SessionSummary Script::some_row() { return oracle_.sessions().read(dice_.pick(sessions_)).value(); }

WorkerId Script::some_worker() {
  if (dice_.chance(3)) return WorkerId::parse("nobody").value();
  return dice_.pick(workers_);
}

std::optional<Timestamp> Script::some_time() {
  if (dice_.chance(60)) return std::nullopt;
  return clock_.now() + Duration(static_cast<std::int64_t>(dice_.below(40'000)) - 20'000);
}

Point Script::some_point(const SessionId& session) {
  if (dice_.chance(25)) return Point::head();
  const auto row = oracle_.sessions().read(session);
  if (row && dice_.chance(row->version > 0 ? 40 : 4)) {
    return Point::version(dice_.chance(90) ? dice_.between(1, row->version) : row->version + 1);
  }
  return Point::position(some_position(session));
}

Position Script::some_position(const SessionId& session) {
  const auto row = oracle_.sessions().read(session);
  return row ? dice_.between(0, dice_.chance(10) ? row->next : row->next - 1) : dice_.below(5);
}

Action Script::create() {
  NewSession session = new_session();
  const bool is_repeat =
      sessions_.size() >= sessions_max || (!sessions_.empty() && dice_.chance(8));
  if (is_repeat) session.id = dice_.pick(sessions_);
  if (!is_repeat && !removed_.empty() && dice_.chance(30)) session.id = dice_.pick(removed_);
  if (!is_repeat) proposed_.push_back(session.id);
  return {"create " + session.id.text(),
          [session](Store& store) { return describe(store.sessions().create(session)); }};
}

Action Script::own() {
  SessionId session = some_session();
  auto row = oracle_.sessions().read(session);
  for (int i = 0; i < 3 && row && row->holder; ++i) {
    session = some_session();
    row = oracle_.sessions().read(session);
  }
  if (row && row->holder && dice_.chance(40)) {
    Lease given{session, row->holder->worker, row->holder->fence};
    leases_.push_back(given);
    if (!dice_.chance(70)) given = dice_.pick(leases_);
    return {"release " + describe(given),
            [given](Store& store) { return describe(store.ownership().release(given)); }};
  }
  const WorkerId worker = some_worker();
  return {"acquire " + session.text() + " for " + worker.text(),
          [=](Store& store) { return describe(store.ownership().acquire(session, worker)); }};
}

Action Script::worker() {
  const auto choice = dice_.below(10);
  if (workers_.empty() || (choice < 2 && workers_.size() < workers_max)) {
    workers_.push_back(made<WorkerId>("w"));
  } else if (choice < 8) {
    const WorkerId worker = some_worker();
    return {"renew " + worker.text(),
            [=](Store& store) { return describe(store.ownership().renew(worker)); }};
  } else if (choice < 9) {
    const WorkerId worker = some_worker();
    return {"retire " + worker.text(),
            [=](Store& store) { return describe(store.ownership().retire(worker)); }};
  }
  NewWorker worker{.id = workers_.back(), .host = dice_.pick({"here", "there"}), .pid = 7};
  worker.lease_time = dice_.chance(3) ? Duration(0) : Duration(dice_.chance(50) ? 30'000 : 60'000);
  return {"enroll " + worker.id.text(),
          [=](Store& store) { return describe(store.ownership().enroll(worker)); }};
}

Action Script::resource() {
  const std::string name = dice_.pick({"r1", "r2", "r1", "r2", "bad\nname"});
  const WorkerId worker = some_worker();
  switch (dice_.below(2)) {
    case 0:
      return {"find resource",
              [=](Store& store) { return describe(store.lookup().find_resource(name)); }};
    default:
      return {"acquire resource", [=](Store& store) {
                return describe(store.lookup().acquire_resource(name, worker));
              }};
  }
}

Action Script::post() {
  const SessionId session = some_session();
  if (dice_.chance(25)) {
    const std::size_t limit = dice_.between(0, 5);
    return {"inbox of " + session.text(),
            [=](Store& store) { return describe(store.inbox().list(session, limit)); }};
  }
  if (messages_.empty() || dice_.chance(75)) messages_.push_back(made<MessageId>("m"));
  const InboxMessage message{session, dice_.pick(messages_), dice_.pick({"note", "approval"}),
                             body()};
  return {"post " + message.id.text() + " to " + session.text(),
          [=](Store& store) { return describe(store.inbox().post(message)); }};
}

Action Script::annotate() {
  const SessionId session = some_session();
  const Annotation part = annotation();
  return {"annotate " + session.text(),
          [=](Store& store) { return describe(store.sessions().annotate(session, part)); }};
}

Action Script::commit() {
  SessionSummary session = some_row();
  for (int i = 0; i < 5 && !session.holder; ++i) session = some_row();
  // Without an owner a commit can only be refused, which need not be tried often.
  if (!session.holder && dice_.chance(80)) return own();
  const Committed made{lease(session), batch(session)};
  batches_.push_back(made);
  return {"commit " + made.batch.id.text() + " under " + describe(made.lease),
          [made](Store& store) { return describe(store.commit(made.lease, made.batch)); }};
}

Action Script::repeat() {
  if (batches_.empty()) return commit();
  Committed made = dice_.pick(batches_);
  if (dice_.chance(30)) made.batch.entries.push_back(entry());
  if (dice_.chance(30)) made.lease.fence += 1;
  return {"repeat " + made.batch.id.text() + " under " + describe(made.lease),
          [made](Store& store) { return describe(store.commit(made.lease, made.batch)); }};
}

Lease Script::lease(const SessionSummary& session) {
  if (!leases_.empty() && dice_.chance(6)) {
    Lease stale = dice_.pick(leases_);
    stale.session = session.id;
    return stale;
  }
  if (!session.holder) return {session.id, some_worker(), dice_.between(0, 3)};
  const Lease present{session.id, session.holder->worker, session.holder->fence};
  leases_.push_back(present);
  return present;
}

std::string Script::by_name(Store& store) const {
  std::string text;
  for (const Committed& one : batches_) {
    text += describe(store.lookup().find_receipt(one.lease.session, one.batch.id)) + "\n";
  }
  text += describe(store.lookup().find_receipt(SessionId::parse("nobody").value(),
                                               BatchId::parse("b1").value()));
  for (const auto* name : {"r1", "r2"}) {
    text += describe(store.lookup().find_resource(name)) + "\n";
  }
  for (const auto* key : {"k1", "k2", "k3"}) {
    text += describe(store.ledger().find_holder(sha256(key))) + "\n";
    text += describe(store.lookup().by_key(sha256(key))) + "\n";
  }
  for (const BlobRef& ref : blobs_) text += describe(store.blobs().get(ref)) + "\n";
  return text;
}

}  // namespace perdure
