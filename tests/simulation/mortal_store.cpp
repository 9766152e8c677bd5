// Whatever a dead process still tries is refused here, so that its objects can be taken apart.

#include "simulation/mortal_store.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "doubles/must.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "store/api/lookup.hpp"

namespace perdure::simulation {
namespace {

std::unexpected<Error> away() { return fail(ErrorCode::unavailable, "the store is away"); }

}  // namespace

std::string_view to_string(Mishap mishap) {
  switch (mishap) {
    case Mishap::none:
      return "nothing";
    case Mishap::death_before:
      return "death before";
    case Mishap::death_after:
      return "death after";
    case Mishap::unknown_made:
      return "unknown, made";
    case Mishap::unknown_unmade:
      return "unknown, not made";
    case Mishap::unavailable:
      return "unavailable";
  }
  return "";
}

MortalStore::MortalStore(Store& behind, Graves& graves)
    : Store({.sessions = *this,
             .ownership = *this,
             .log = behind.log(),
             .ledger = *this,
             .inbox = behind.inbox(),
             .blobs = behind.blobs(),
             .upkeep = behind.upkeep(),
             .lookup = *this,
             .transfer = behind.transfer()}),
      behind_(behind),
      graves_(graves) {}

Result<SessionSummary> MortalStore::create(const NewSession& session) {
  if (is_dead_) return away();
  return behind_.sessions().create(session);
}

Result<SessionSummary> MortalStore::read(const SessionId& id) {
  auto row = behind_.sessions().read(id);
  const auto grave = graves_.find(id.text());
  if (row && !row->holder && grave != graves_.end()) row->holder = grave->second;
  return row;
}

Result<SessionPage> MortalStore::list(const SessionQuery& query) {
  return behind_.sessions().list(query);
}

Result<std::vector<SessionSummary>> MortalStore::due(std::size_t limit) {
  return behind_.sessions().due(limit);
}

Result<SessionSummary> MortalStore::annotate(const SessionId& id, const Annotation& part) {
  if (is_dead_) return away();
  return behind_.sessions().annotate(id, part);
}

Result<void> MortalStore::enroll(const NewWorker& worker) {
  if (is_dead_) return away();
  worker_ = worker.id;
  return behind_.ownership().enroll(worker);
}

Result<void> MortalStore::renew(const WorkerId& worker) {
  if (is_dead_) return away();
  return behind_.ownership().renew(worker);
}

Result<void> MortalStore::retire(const WorkerId& worker) {
  if (is_dead_) return away();
  return behind_.ownership().retire(worker);
}

Result<Lease> MortalStore::acquire(const SessionId& session, const WorkerId& worker, Sync sync) {
  if (is_dead_) return away();
  return behind_.ownership().acquire(session, worker, sync);
}

Result<void> MortalStore::release(const Lease& lease) {
  if (is_dead_) return away();
  return behind_.ownership().release(lease);
}

Result<ResourceLease> MortalStore::acquire_resource(const std::string& name,
                                                    const WorkerId& worker) {
  return behind_.lookup().acquire_resource(name, worker);
}

Result<std::optional<Holder>> MortalStore::find_resource(const std::string& name) {
  return behind_.lookup().find_resource(name);
}

Result<Call> MortalStore::read(const SessionId& session, Position call) {
  if (fails_to_read()) return away();
  return behind_.ledger().read(session, call);
}

Result<std::optional<Call>> MortalStore::find_holder(const Digest& key) {
  if (fails_to_read()) return away();
  return behind_.ledger().find_holder(key);
}

Result<std::vector<Call>> MortalStore::with_key(const Digest& key) {
  if (fails_to_read()) return away();
  return behind_.lookup().with_key(key);
}

Result<std::vector<Segment>> MortalStore::line(const SessionId& session, Point as_of) {
  return behind_.lookup().line(session, as_of);
}

Result<std::optional<Receipt>> MortalStore::find_receipt(const SessionId& session,
                                                         const BatchId& batch) {
  return behind_.lookup().find_receipt(session, batch);
}

Result<std::vector<Call>> MortalStore::list(const CallQuery& query) {
  if (fails_to_read()) return away();
  return behind_.ledger().list(query);
}

void MortalStore::plan(std::uint64_t commit, Mishap mishap, std::uint64_t times) {
  commit_in_ = commit;
  mishap_ = mishap;
  times_ = times;
}

void MortalStore::be_well() {
  plan(0, Mishap::none, 0);
  read_fails_in_ = 0;
}

Mishap MortalStore::next_mishap() {
  if (commit_in_ > 1) {
    --commit_in_;
  } else if (commit_in_ == 1 && times_ > 0) {
    --times_;
    return mishap_;
  }
  return Mishap::none;
}

bool MortalStore::fails_to_read() {
  if (is_dead_) return true;
  if (read_fails_in_ == 0) return false;
  --read_fails_in_;
  return read_fails_in_ == 0;
}

Result<Receipt> MortalStore::commit_behind(const Lease& lease, const Batch& batch) {
  // It may be deleted by now.
  const auto before = behind_.sessions().read(lease.session);
  auto receipt = behind_.commit(lease, batch);
  const auto after = behind_.sessions().read(lease.session);
  const bool has_changed =
      before.has_value() != after.has_value() || (before && before->revision != after->revision);
  if (is_outdated_ && has_changed) has_intruded_ = true;
  return receipt;
}

template <class Write>
auto MortalStore::with_mishap(Write write) -> decltype(write()) {
  if (is_dead_) return away();
  const Mishap mishap = next_mishap();
  switch (mishap) {
    case Mishap::none:
      return write();
    case Mishap::death_before:
      die();
      return away();
    case Mishap::death_after:
      std::ignore = write();
      die();
      return away();
    case Mishap::unknown_made:
      if (auto written = write(); !written) return written;
      return fail(ErrorCode::commit_unknown, "nobody knows");
    case Mishap::unknown_unmade:
      return fail(ErrorCode::commit_unknown, "nobody knows");
    case Mishap::unavailable:
      return away();
  }
  return away();
}

Result<Receipt> MortalStore::commit(const Lease& lease, const Batch& batch) {
  return with_mishap([&] { return commit_behind(lease, batch); });
}

Result<Created> MortalStore::create(const NewSession& session, const WorkerId& worker,
                                    const Batch& first) {
  return with_mishap([&] { return behind_.create(session, worker, first); });
}

}  // namespace perdure::simulation
