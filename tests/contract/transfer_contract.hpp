// What the tests of both ends of a move share: a session that departs, and a store whose session
// arrives.

#pragma once

#include "contract/store_contract.hpp"
#include "contract/travel.hpp"
#include "perdure/store/transfer.hpp"

namespace perdure {

inline const Destination there{.incarnation = "sto_there", .place = "there.db"};

class TransferContract : public StoreContract {
 protected:
  Transfer& transfer() { return store->transfer(); }

  /// A session without an owner that said one thing.
  SessionId said(const std::string& name) {
    const Lease lease = own(create(name));
    say(lease, "hello");
    must(store->ownership().release(lease));
    return lease.session;
  }

  Passage depart(const std::vector<SessionId>& sessions = {}) {
    return departing(there, must(transfer().depart(there, sessions)));
  }

  /// A store that moves all it has to this one.
  struct Source {
    std::unique_ptr<Store> store;
    Departure departure{};
    Passage departing{};
    Passage arriving{};
  };

  /// A session "guest" with a call in that state that has the key.
  Source guest(CallState state = CallState::succeeded, Body body = Body::from_text("{}")) {
    Source source;
    source.store = must(open_store("memory:", {.clock = &clock, .ids = &ids}));
    store.swap(source.store);
    const Lease lease = own(create("guest"), "host");
    if (const auto ref = body.blob()) must(store->blobs().put("a blob"));
    NewEntry entry = message("hello");
    entry.body = std::move(body);
    commit(lease, batch_of(lease.session, {entry}));
    in_state(lease, state, key);
    must(store->ownership().retire(worker_id("host")));
    store.swap(source.store);
    enrolled.erase("host");
    open_move(source);
    return source;
  }

  void open_move(Source& source) {
    const Destination here{.incarnation = store->info().incarnation, .place = "here"};
    source.departure = must(source.store->transfer().depart(here, {}));
    source.departing = departing(here, source.departure);
    source.arriving = arriving(*source.store, source.departure);
  }

  void arrive(const Source& source) {
    must(transfer().arrive(source.arriving.peer, source.departure));
  }

  Result<void> take_all(Source& source) {
    return travel(*source.store, *store, {source.departing, source.arriving});
  }

  void land(Source& source) {
    arrive(source);
    must(take_all(source));
    must(source.store->transfer().end(source.departing, MoveEnd::moved));
    must(transfer().end(source.arriving, MoveEnd::moved));
  }

  const Digest key = sha256("a key");
};

}  // namespace perdure
