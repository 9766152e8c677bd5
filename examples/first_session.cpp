// A first session. Run it twice, or kill it anywhere in between: it continues where it stopped.

#include <iostream>

#include <perdure/store/store.hpp>

using namespace perdure;

int main() {
  const auto store = open_store("first.db").value();
  const auto session = SessionId::parse("my first session").value();
  const auto worker = mint<WorkerTag>(random_ids());

  (void)store->sessions().create({.id = session});  // From the second run on it already exists.
  store->ownership().enroll({.id = worker}).value();
  const Lease lease = store->ownership().acquire(session, worker).value();

  Batch turn{.id = mint<BatchTag>(random_ids())};
  turn.expected_head = store->sessions().read(session)->head;
  turn.entries = {{.channel = "transcript", .kind = "user", .body = Body::from_text("Hello!")}};
  turn.checkpoint = {.reason = "turn"};
  const auto receipt = store->commit(lease, turn).value();  // When it returns, it is on disk.

  const auto log = store->log().read(session, {}).value();
  for (const Entry& entry : log) std::cout << entry.position << ' ' << entry.body.bytes() << '\n';
  std::cout << "version " << *receipt.version << '\n';
}
