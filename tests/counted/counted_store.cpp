// Syncs are counted, not done: how long a disk takes is not what is asked here.

#include "counted/counted_store.hpp"

#include <fmt/format.h>
#include <stdexcept>
#include <utility>

#include "doubles/must.hpp"
#include "store/sqlite/sqlite_store.hpp"

namespace perdure {
namespace {

NewEntry entry(const std::string& channel, Fold fold, std::size_t size) {
  return {.channel = channel,
          .kind = "message",
          .fold = fold,
          .body = Body::from_text(Json(std::string(size, 'x')).text()),
          .tally = {.tokens_in = 10},
          .at = {}};
}

}  // namespace

// Each store object registers a VFS of its own name, for tests that run two.
CountedStore::CountedStore(Durability durability, Clock& clock)
    : vfs_(fmt::format("counting {}", static_cast<const void*>(this))),
      worker_(mint<WorkerTag>(random_ids())) {
  vfs_.skip_syncs();
  OpenOptions options;
  options.durability = durability;
  options.clock = &clock;
  store_ = must(sqlite::open_sqlite({.path = path(), .open = options, .vfs = vfs_.name()}));
  must(store_->ownership().enroll({.id = worker_, .host = "here", .pid = 1}));
}

Lease CountedStore::open_session(const std::string& name) {
  const auto id = must(SessionId::parse(name));
  must(store_->sessions().create({.id = id}));
  return must(store_->ownership().acquire(id, worker_));
}

Batch CountedStore::next_turn(const SessionId& session) {
  Batch batch;
  batch.id = mint<BatchTag>(random_ids());
  batch.expected_head = must(store_->sessions().read(session)).head;
  batch.entries = {entry("transcript", Fold::append, 500), entry("transcript", Fold::append, 1500),
                   entry("transcript", Fold::append, 600), entry("transcript", Fold::append, 900),
                   entry("plan", Fold::replace, 400)};
  batch.checkpoint = NewCheckpoint{.reason = "turn", .label = {}, .metadata = "{}"};
  return batch;
}

void CountedStore::take_turns(const Lease& lease, std::size_t count, Sync sync) {
  Batch batch = next_turn(lease.session);
  batch.sync = sync;
  for (std::size_t i = 0; i < count; ++i) {
    batch.expected_head = must(store_->commit(lease, batch)).head;
    batch.id = mint<BatchTag>(random_ids());
  }
}

}  // namespace perdure
