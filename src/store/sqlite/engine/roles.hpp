// The roles of an SQLite store. Each method goes to what the store object holds.

#pragma once

#include "perdure/core/time.hpp"
#include "rules/whole_store.hpp"
#include "sqlite/engine/readers.hpp"
#include "sqlite/engine/workers.hpp"
#include "sqlite/engine/writer.hpp"
#include "store/api/lookup.hpp"
#include "store/api/transfer.hpp"

namespace perdure::sqlite {

/// What the roles share; owned by the store object.
struct Access {
  Writer& writer;
  Readers& readers;
  Workers& workers;
  const Clock& clock;
};

class SqliteRoles : public rules::WholeStore {
 protected:
  explicit SqliteRoles(Access access) : access_(access) {}

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

  const Access access_;
};

}  // namespace perdure::sqlite
