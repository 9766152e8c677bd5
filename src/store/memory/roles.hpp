// A memory store: every method is one critical section over the one guarded state.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "memory/state.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/store.hpp"
#include "rules/whole_store.hpp"
#include "store/api/lookup.hpp"
#include "store/api/transfer.hpp"

namespace perdure::memory {

/// What the roles share.
struct Base {
  Clock& clock;
  StoreInfo info;
  Guarded<State> state;
};

class MemoryStore final : public rules::WholeStore {
 public:
  MemoryStore(Clock& clock, StoreInfo info) : base_{clock, std::move(info), {}} {}

  Result<Receipt> commit(const Lease& lease, const Batch& batch) override;
  Result<Created> create(const NewSession& session, const WorkerId& worker,
                         const Batch& first) override;

 private:
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

  Result<std::uint64_t> wait_for_change(std::uint64_t since, Duration timeout) override;

  StoreInfo info() const override;
  Result<CheckReport> check(const Progress& progress) override;
  Result<void> backup(const std::string& path, const Progress& progress) override;
  Result<std::vector<Remark>> doctor() override;
  Result<void> sync() override;
  Result<std::string> loss_token() override { return base_.info.incarnation; }

  mutable Base base_;
};

}  // namespace perdure::memory
