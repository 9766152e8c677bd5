// The roles of a PostgreSQL store. Each method goes to what the store object holds.

#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"
#include "postgres/client/client.hpp"
#include "postgres/client/connection.hpp"
#include "postgres/client/params.hpp"
#include "postgres/client/values.hpp"
#include "postgres/client/watcher.hpp"
#include "rules/whole_store.hpp"
#include "store/api/lookup.hpp"
#include "store/api/transfer.hpp"

namespace perdure::postgres {

/// What the roles share; owned by the store object.
struct Access {
  Client& client;
  Watcher& watcher;
  IdSource& ids;
  /// Null: the server's, as everywhere but in tests.
  const Clock* clock = nullptr;
  Durability durability = Durability::full;

  /// For the parameters of our functions that take a time.
  [[nodiscard]] std::optional<Timestamp> now() const {
    return clock == nullptr ? std::nullopt : std::optional(clock->now());
  }
  [[nodiscard]] std::optional<std::int64_t> uptime() const {
    return clock == nullptr ? std::nullopt : std::optional(clock->uptime().count());
  }
  [[nodiscard]] bool is_synced(Sync sync) const {
    return sync == Sync::now && durability == Durability::full;
  }

  /// Calls one of our functions, which may be repeated, in a transaction of its own.
  template <class... Args>
  Result<Rows> call(std::string_view function, Args&&... args) const {
    const Params params = Params::of(std::forward<Args>(args)...);
    return write(call_of(function, params.count()), params);
  }

  /// Runs one repeatable statement, and notifies those who wait.
  Result<Rows> write(std::string_view sql, const Params& params) const {
    auto rows = client.write(sql, params);
    if (rows) watcher.note_write();
    return rows;
  }
};

/// A batch as perdure.commit takes it. Points to the lease's session. `first_row`: of the session, if the
/// batch is its first.
[[nodiscard]] Commission commission_of(const Access& access, const Lease& lease, const Batch& batch,
                                       std::optional<std::string> first_row = {});

/// Of a statement whose rows say nothing.
[[nodiscard]] inline Result<void> without_rows(Result<Rows> done) {
  if (!done) return forward(done);
  return {};
}

class PostgresRoles : public rules::WholeStore {
 protected:
  explicit PostgresRoles(Access access) : access_(access) {}

  Result<Receipt> commit(const Lease& lease, const Batch& batch) override;
  Result<Created> create(const NewSession& session, const WorkerId& worker,
                         const Batch& first) override;

  Result<SessionSummary> create(const NewSession& session) override;
  Result<SessionSummary> read(const SessionId& id) override;
  Result<SessionPage> list(const SessionQuery& query) override;
  Result<std::vector<SessionSummary>> due(std::size_t limit) override;
  Result<SessionSummary> annotate(const SessionId& id, const Annotation& part) override;

  Result<void> enroll(const NewWorker& worker) override;
  Result<void> renew(const WorkerId& worker) override;
  Result<void> retire(const WorkerId& worker) override;
  Result<Lease> acquire(const SessionId& session, const WorkerId& worker, Sync sync) override;
  Result<void> release(const Lease& lease) override;
  Result<ResourceLease> acquire_resource(const std::string& name, const WorkerId& worker) override;
  Result<std::optional<Holder>> find_resource(const std::string& name) override;

  Result<std::vector<Entry>> read(const SessionId& session, const LogQuery& query) override;
  Result<std::optional<Entry>> find_value(const SessionId& session, const std::string& channel,
                                          Point as_of) override;
  Result<std::vector<Checkpoint>> checkpoints(const SessionId& session,
                                              const CheckpointQuery& query) override;
  Result<std::vector<Segment>> line(const SessionId& session, Point as_of) override;
  Result<std::optional<Receipt>> find_receipt(const SessionId& session,
                                              const BatchId& batch) override;

  Result<Call> read(const SessionId& session, Position call) override;
  Result<std::optional<Call>> find_holder(const Digest& key) override;
  Result<std::vector<Call>> with_key(const Digest& key) override;
  Result<std::vector<Call>> list(const CallQuery& query) override;

  Result<void> post(const InboxMessage& message) override;
  Result<std::vector<InboxMessage>> list(const SessionId& session, std::size_t limit) override;

  Result<BlobRef> put(std::string_view bytes) override;
  Result<std::string> read(const BlobRef& ref, std::uint64_t offset, std::uint64_t size) override;

  Result<Pruned> prune(const SessionId& session, const Keep& keep,
                       const Progress& progress) override;
  Result<Pruned> forget(const SessionId& session, Version version) override;
  Result<Freed> erase(const SessionId& session, const std::vector<Position>& positions) override;
  Result<Freed> remove(const SessionId& session, const Progress& progress) override;
  Result<Freed> collect_blobs(Duration staged_for, const Progress& progress) override;
  Result<Freed> vacuum(const Progress& progress) override;

  Result<FactSlice> read(const FactSource& source, const FactCursor& from) override;
  Result<void> take(const Arrival& arrival, const FactSlice& slice) override;
  Result<void> discard(const Arrival& arrival) override;
  Result<void> mark_moved(const Destination& to, std::uint64_t attempt,
                          const std::vector<SessionVersion>& sessions) override;

  /// That wrote something.
  [[nodiscard]] std::uint64_t commits() const { return commits_; }
  /// Ends the workers that this store object enrolled, while the client can still be used.
  void end_workers();

  const Access access_;

 private:
  Result<Receipt> commit_as(const Lease& lease, const Batch& batch,
                            std::optional<std::string> first_row);
  template <class Ask>
  Result<Fence> take(Ask ask);
  [[nodiscard]] bool is_gone(const std::string& worker);

  std::atomic<std::uint64_t> commits_ = 0;
  std::mutex mutex_;
  std::set<WorkerId> own_;  ///< Enrolled by this store object.
};

}  // namespace perdure::postgres
