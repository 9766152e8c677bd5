// What the tests of both ends of a move share: a session that leaves, and a store whose session
// arrives.

#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "contract/store_contract.hpp"
#include "store/api/lookup.hpp"
#include "store/api/transfer.hpp"

namespace perdure {

inline const Destination there{.incarnation = "sto_there", .place = "there.db"};

/// Facts of all sessions of one store, taken into another; with the blobs of entries.
[[nodiscard]] inline Result<void> travel(Store& from, Store& to, const Arrival& arrival,
                                         bool with_blobs = true) {
  const FactSource source{.owners = must(find_owners(from.transfer(), {})), .arrival = {}};
  for (FactCursor next; !next.is_end();) {
    auto slice = from.transfer().read(source, next);
    if (!slice) return forward(slice);
    for (const Fact& fact : slice->facts) {
      const auto* entry = std::get_if<Entry>(&fact);
      const auto ref = entry == nullptr ? std::nullopt : entry->body.blob();
      if (!ref || !with_blobs) continue;
      auto put = to.blobs().put(from.blobs().get(*ref).value());
      if (!put) return forward(put);
    }
    if (auto taken = to.transfer().take(arrival, *slice); !taken) return taken;
    next = slice->next;
  }
  return {};
}

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

  /// These, or all that are here, as they are now.
  std::vector<SessionVersion> versions(std::vector<SessionId> sessions = {}) {
    if (sessions.empty()) {
      for (const SessionSummary& session : must(store->sessions().list({})).sessions) {
        if (session.moved_to.empty()) sessions.push_back(session.id);
      }
    }
    std::vector<SessionVersion> all;
    for (const SessionId& id : sessions) all.push_back({id, row(id).revision});
    return all;
  }

  Result<void> mark(const std::vector<SessionId>& sessions = {}, const Destination& to = there) {
    return transfer().mark_moved(to, ++attempts, versions(sessions));
  }

  /// A store that moves all it has to this one.
  struct Source {
    std::unique_ptr<Store> store;
    Arrival arrival{};
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
    source.arrival = {.from = source.store->info().incarnation, .attempt = ++attempts};
    return source;
  }

  /// A session of that name, and a removed one, "gone", whose call holds the key.
  Source claimant(const std::string& name) {
    Source source;
    source.store = must(open_store("memory:", {.clock = &clock, .ids = &ids}));
    store.swap(source.store);
    const Lease gone = own(create("gone"), "host");
    say(gone, "hello");
    in_state(gone, CallState::succeeded, key);
    say(own(create(name), "host"), "hello");
    must(store->ownership().retire(worker_id("host")));
    must(store->upkeep().remove(gone.session));
    store.swap(source.store);
    enrolled.erase("host");
    source.arrival = {.from = source.store->info().incarnation, .attempt = ++attempts};
    return source;
  }

  Result<void> take_all(Source& source) { return travel(*source.store, *store, source.arrival); }

  void land(Source& source) {
    must(take_all(source));
    must(release(transfer(), source.arrival));
  }

  std::uint64_t attempt_from(const Source& source) {
    return must(transfer().read({.owners = {}, .arrival = {.from = source.arrival.from}}, {}))
        .attempt;
  }

  std::uint64_t attempts = 0;
  const Digest key = sha256("a key");
};

}  // namespace perdure
