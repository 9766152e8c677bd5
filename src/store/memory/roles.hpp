// The roles of a memory store. Each is a view of the one guarded state; every
// method is one critical section over it.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "memory/guarded.hpp"
#include "memory/state.hpp"
#include "perdure/core/id_source.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/store.hpp"

namespace perdure::memory {

/// What the roles share. Outlives them.
struct Base {
  Clock& clock;
  StoreInfo info;
  Guarded<State> state;
};

class MemorySessions final : public Sessions {
 public:
  explicit MemorySessions(Base& base) : base_(base) {}
  Result<SessionSummary> create(const NewSession& session) override;
  Result<SessionSummary> read(const SessionId& id) override;
  Result<SessionPage> list(const SessionQuery& query) override;
  Result<std::vector<SessionSummary>> due(std::size_t limit) override;
  Result<SessionSummary> annotate(const SessionId& id, const Annotation& part) override;

 private:
  Base& base_;
};

class MemoryOwnership final : public Ownership {
 public:
  explicit MemoryOwnership(Base& base) : base_(base) {}
  Result<void> enroll(const NewWorker& worker) override;
  Result<void> renew(const WorkerId& worker) override;
  Result<void> retire(const WorkerId& worker) override;
  Result<Lease> acquire(const SessionId& session, const WorkerId& worker, Sync sync) override;
  Result<void> release(const Lease& lease) override;
  Result<ResourceLease> acquire_resource(const std::string& name, const WorkerId& worker) override;
  Result<void> release_resource(const ResourceLease& lease) override;
  Result<std::optional<Holder>> find_resource(const std::string& name) override;

 private:
  Base& base_;
};

class MemoryLog final : public Log {
 public:
  explicit MemoryLog(Base& base) : base_(base) {}
  Result<std::vector<Entry>> read(const SessionId& session, const LogQuery& query) override;
  Result<std::optional<Entry>> find_value(const SessionId& session, const std::string& channel,
                                          Point as_of) override;
  Result<Checkpoint> read_checkpoint(const SessionId& session, Version version) override;
  Result<std::vector<Checkpoint>> checkpoints(const SessionId& session,
                                              const CheckpointQuery& query) override;
  Result<std::vector<Segment>> line(const SessionId& session, Point as_of) override;
  Result<std::optional<Receipt>> find_receipt(const SessionId& session,
                                              const BatchId& batch) override;

 private:
  Base& base_;
};

class MemoryLedger final : public Ledger {
 public:
  explicit MemoryLedger(Base& base) : base_(base) {}
  Result<Call> read(const SessionId& session, Position call) override;
  Result<std::optional<Call>> find_holder(const Digest& key) override;
  Result<std::vector<Call>> by_key(const Digest& key) override;
  Result<std::vector<Call>> find_claims(const Digest& key) override;
  Result<std::vector<Call>> list(const CallQuery& query) override;

 private:
  Base& base_;
};

class MemoryInbox final : public Inbox {
 public:
  explicit MemoryInbox(Base& base) : base_(base) {}
  Result<void> post(const NewInboxMessage& message) override;
  Result<std::vector<InboxMessage>> list(const SessionId& session, std::size_t limit) override;

 private:
  Base& base_;
};

class MemoryBlobs final : public Blobs {
 public:
  explicit MemoryBlobs(Base& base) : base_(base) {}
  Result<BlobRef> put(std::string_view bytes) override;
  Result<std::string> get(const BlobRef& ref) override;
  Result<std::string> read(const BlobRef& ref, std::uint64_t offset, std::uint64_t size) override;
  Result<bool> contains(const BlobRef& ref) override;

 private:
  Base& base_;
};

class MemoryChanges final : public Changes {
 public:
  explicit MemoryChanges(Base& base) : base_(base) {}
  Result<std::uint64_t> current() override;
  Result<std::uint64_t> wait(std::uint64_t since, Duration timeout) override;

 private:
  Base& base_;
};

class MemoryRetention final : public Retention {
 public:
  explicit MemoryRetention(Base& base) : base_(base) {}
  Result<Pruned> prune(const SessionId& session, const Keep& keep,
                       const Progress& progress) override;
  Result<Pruned> forget(const SessionId& session, Version version) override;
  Result<Freed> erase(const SessionId& session, const std::vector<Position>& positions) override;
  Result<Freed> remove(const SessionId& session, const Progress& progress) override;
  Result<Freed> collect_blobs(Duration staged_for, const Progress& progress) override;
  Result<Freed> vacuum(const Progress& progress) override;

 private:
  Base& base_;
};

class MemoryTransfer final : public Transfer {
 public:
  explicit MemoryTransfer(Base& base) : base_(base) {}
  Result<std::vector<OwnerNumber>> find_owners(const std::vector<SessionId>& sessions) override;
  Result<FactSlice> read(const FactSource& source, const FactCursor& from) override;
  Result<void> take(const Arrival& arrival, const FactSlice& slice) override;
  Result<void> release(const Arrival& arrival) override;
  Result<void> discard(const Arrival& arrival) override;
  Result<void> mark_moved(const Destination& to, std::uint64_t attempt,
                          const std::vector<SessionVersion>& sessions) override;

 private:
  Base& base_;
};

class MemoryUpkeep final : public Upkeep {
 public:
  explicit MemoryUpkeep(Base& base) : base_(base) {}
  StoreInfo info() const override { return base_.info; }
  StoreCounters counters() const override;
  Result<CheckReport> check(const Progress& progress) override;
  Result<void> backup(const std::string& path, const Progress& progress) override;
  Result<std::vector<Remark>> doctor() override;
  Result<void> sync() override;
  Result<std::string> loss_token() override { return base_.info.incarnation; }

 private:
  Base& base_;
};

}  // namespace perdure::memory
