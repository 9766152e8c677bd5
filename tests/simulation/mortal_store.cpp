// Whatever a dead process still tries is refused here, so that its objects can be taken apart.

#include "simulation/mortal_store.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "doubles/must.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/store/commit.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/ownership.hpp"
#include "perdure/store/sessions.hpp"

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

class MortalStore::MortalSessions final : public Sessions {
 public:
  explicit MortalSessions(MortalStore& store) : store_(store), behind_(store.behind_.sessions()) {}

  Result<SessionSummary> create(const NewSession& session) final {
    if (store_.is_dead_) return away();
    return behind_.create(session);
  }
  Result<SessionSummary> read(const SessionId& id) final {
    auto row = behind_.read(id);
    const auto grave = store_.graves_.find(id.text());
    if (row && !row->holder && grave != store_.graves_.end()) row->holder = grave->second;
    return row;
  }
  Result<SessionPage> list(const SessionQuery& query) final { return behind_.list(query); }
  Result<std::vector<SessionSummary>> due(std::size_t limit) final { return behind_.due(limit); }
  Result<SessionSummary> annotate(const SessionId& id, const Annotation& part) final {
    if (store_.is_dead_) return away();
    return behind_.annotate(id, part);
  }

 private:
  MortalStore& store_;
  Sessions& behind_;
};

class MortalStore::MortalOwnership final : public Ownership {
 public:
  explicit MortalOwnership(MortalStore& store)
      : store_(store), behind_(store.behind_.ownership()) {}

  Result<void> enroll(const NewWorker& worker) final {
    if (store_.is_dead_) return away();
    store_.worker_ = worker.id;
    return behind_.enroll(worker);
  }
  Result<void> renew(const WorkerId& worker) final {
    if (store_.is_dead_) return away();
    return behind_.renew(worker);
  }
  Result<void> retire(const WorkerId& worker) final {
    if (store_.is_dead_) return away();
    return behind_.retire(worker);
  }
  Result<Lease> acquire(const SessionId& session, const WorkerId& worker, Sync sync) final {
    if (store_.is_dead_) return away();
    return behind_.acquire(session, worker, sync);
  }
  Result<void> release(const Lease& lease) final {
    if (store_.is_dead_) return away();
    return behind_.release(lease);
  }
  Result<ResourceLease> acquire_resource(const std::string& name, const WorkerId& worker) final {
    return behind_.acquire_resource(name, worker);
  }
  Result<void> release_resource(const ResourceLease& lease) final {
    return behind_.release_resource(lease);
  }
  Result<std::optional<Holder>> find_resource(const std::string& name) final {
    return behind_.find_resource(name);
  }

 private:
  MortalStore& store_;
  Ownership& behind_;
};

class MortalStore::MortalLedger final : public Ledger {
 public:
  explicit MortalLedger(MortalStore& store) : store_(store), behind_(store.behind_.ledger()) {}

  Result<Call> read(const SessionId& session, Position call) final {
    if (store_.fails_to_read()) return away();
    return behind_.read(session, call);
  }
  Result<std::optional<Call>> find_holder(const Digest& key) final {
    if (store_.fails_to_read()) return away();
    return behind_.find_holder(key);
  }
  Result<std::vector<Call>> by_key(const Digest& key) final {
    if (store_.fails_to_read()) return away();
    return behind_.by_key(key);
  }
  Result<std::vector<Call>> find_claims(const Digest& key) final {
    if (store_.fails_to_read()) return away();
    return behind_.find_claims(key);
  }
  Result<std::vector<Call>> list(const CallQuery& query) final {
    if (store_.fails_to_read()) return away();
    return behind_.list(query);
  }

 private:
  MortalStore& store_;
  Ledger& behind_;
};

MortalStore::MortalStore(Store& behind, Graves& graves)
    : behind_(behind),
      graves_(graves),
      sessions_(std::make_unique<MortalSessions>(*this)),
      ownership_(std::make_unique<MortalOwnership>(*this)),
      ledger_(std::make_unique<MortalLedger>(*this)) {}

MortalStore::~MortalStore() = default;

Sessions& MortalStore::sessions() { return *sessions_; }
Ownership& MortalStore::ownership() { return *ownership_; }
Ledger& MortalStore::ledger() { return *ledger_; }

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
