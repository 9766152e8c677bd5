// The contract's short words, and the list of backends every suite runs for.

#include "contract/store_contract.hpp"

#include "store/api/lookup.hpp"

namespace perdure {

NewEntry message(std::string text, std::string channel) {
  NewEntry entry;
  entry.channel = std::move(channel);
  entry.kind = "message";
  entry.body = Body::from_bytes(std::move(text));
  return entry;
}

NewEntry value(std::string text, std::string channel) {
  NewEntry entry = message(std::move(text), std::move(channel));
  entry.fold = Fold::replace;
  return entry;
}

LogQuery as_of(Point point) {
  LogQuery query;
  query.as_of = point;
  return query;
}

StoreContract::StoreContract() : store(must(open())) {}

Result<std::unique_ptr<Store>> StoreContract::open(OpenOptions options) {
  options.clock = &clock;
  options.ids = &ids;
  // A busy machine may take long; what a wait is for has tests of its own.
  if (options.write_wait == OpenOptions{}.write_wait) options.write_wait = std::chrono::minutes(5);
  return open_store(home.location(), options);
}

SessionId StoreContract::create(const std::string& name) {
  return create(NewSession{.id = session_id(name)});
}

SessionId StoreContract::create(const NewSession& session) {
  return must(store->sessions().create(session)).id;
}

SessionId StoreContract::fork(const std::string& name, const SessionId& of, Point at) {
  NewSession session{.id = session_id(name)};
  session.origin = NewSession::Origin{.session = of, .at = at, .lineage = Lineage::fork};
  return create(session);
}

WorkerId StoreContract::enroll(const std::string& name, Duration lease_time) {
  const NewWorker worker{
      .id = worker_id(name), .host = "host of " + name, .pid = 7, .lease_time = lease_time};
  must(store->ownership().enroll(worker));
  enrolled.insert(name);
  return worker.id;
}

Lease StoreContract::own(const SessionId& session, const std::string& worker) {
  if (!enrolled.contains(worker)) enroll(worker);
  return must(store->ownership().acquire(session, worker_id(worker)));
}

Batch StoreContract::batch(const SessionId& session) {
  return Batch{.id = mint<BatchTag>(fresh), .expected_head = row(session).head};
}

Batch StoreContract::batch_of(const SessionId& session, std::vector<NewEntry> entries) {
  Batch made = batch(session);
  made.entries = std::move(entries);
  return made;
}

Receipt StoreContract::commit(const Lease& lease, const Batch& made) {
  return must(store->commit(lease, made));
}

Receipt StoreContract::say(const Lease& lease, const std::string& text) {
  return commit(lease, batch_of(lease.session, {message(text)}));
}

Version StoreContract::checkpoint(const Lease& lease, const std::string& label) {
  Batch made = batch(lease.session);
  made.checkpoint = NewCheckpoint{.reason = "test", .label = label};
  return commit(lease, made).version.value();
}

Receipt StoreContract::branch(const Lease& lease, Point point, const std::string& text) {
  Batch made = batch_of(lease.session, {message(text)});
  made.branch_from = point;
  return commit(lease, made);
}

Receipt StoreContract::change(const Lease& lease, StatusChange status) {
  Batch made = batch(lease.session);
  made.status = std::move(status);
  return commit(lease, made);
}

Position StoreContract::intend(const Lease& lease, std::optional<Digest> key) {
  Batch made = batch_of(lease.session, {message("arguments", "calls")});
  const Position at = row(lease.session).next;
  made.calls = {Intend{.call = at, .args = at, .tool = "send", .key = key}};
  commit(lease, made);
  return at;
}

Receipt StoreContract::apply(const Lease& lease, CallChange call) {
  Batch made = batch(lease.session);
  made.calls = {std::move(call)};
  return commit(lease, made);
}

Position StoreContract::in_state(const Lease& lease, CallState state, std::optional<Digest> key) {
  const Position at = intend(lease, key);
  if (state == CallState::intended) return at;
  const bool never_started = state == CallState::denied || state == CallState::cancelled;
  if (!never_started) apply(lease, Dispatch{.call = at});
  if (state == CallState::dispatched) return at;
  if (state == CallState::abandoned) apply(lease, Settle{.call = at, .state = CallState::in_doubt});
  apply(lease, Settle{.call = at, .state = state});
  return at;
}

void StoreContract::post(const SessionId& session, const std::string& id, const std::string& text) {
  must(store->inbox().post({session, message_id(id), "note", Body::from_bytes(text)}));
}

std::vector<std::string> StoreContract::texts(const SessionId& session, const LogQuery& query) {
  std::vector<std::string> found;
  for (const Entry& entry : must(store->log().read(session, query))) {
    found.push_back(entry.body.bytes());
  }
  return found;
}

std::vector<Position> StoreContract::positions(const SessionId& session, const LogQuery& query) {
  std::vector<Position> found;
  for (const Entry& entry : must(store->log().read(session, query))) {
    found.push_back(entry.position);
  }
  return found;
}

INSTANTIATE_TEST_SUITE_P(EveryBackend, StoreContract, testing::ValuesIn(every_form()), name_of);
INSTANTIATE_TEST_SUITE_P(SurvivingBackend, SurvivingStore,
                         testing::ValuesIn(surviving(every_form())), name_of);
INSTANTIATE_TEST_SUITE_P(FileBackend, FileStore, testing::ValuesIn(file_backends()), name_of);

}  // namespace perdure
