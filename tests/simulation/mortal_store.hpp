// The store as one process sees it: a process that may die at any commit, of which nobody may
// know whether it was made, and that nobody hears any more once it is dead.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "store/api/lookup.hpp"

namespace perdure::simulation {

/// Who held a session when its process was found dead: a store on one machine knows it.
using Graves = std::map<std::string, Holder>;

enum class Mishap : std::uint8_t {
  none,
  death_before,    ///< The process dies, and the commit is not made.
  death_after,     ///< It is made, and nobody is told.
  unknown_made,    ///< It is made, and the answer is `commit_unknown`.
  unknown_unmade,  ///< It is not, and the answer is the same.
  unavailable,
};

[[nodiscard]] std::string_view to_string(Mishap mishap);

class MortalStore final : public Store,
                          private Sessions,
                          private Ownership,
                          private Ledger,
                          private Lookup {
 public:
  /// Both must outlive it.
  MortalStore(Store& behind, Graves& graves);

  /// At its Nth commit from now, and for as many as `times`.
  void plan(std::uint64_t commit, Mishap mishap, std::uint64_t times);
  /// The Nth read of the ledger from now is `unavailable`.
  void plan_read(std::uint64_t read) { read_fails_in_ = read; }
  void be_well();
  /// Who it enrolled.
  [[nodiscard]] const WorkerId& worker() const { return worker_; }

  void die() { is_dead_ = true; }
  [[nodiscard]] bool is_dead() const { return is_dead_; }
  /// Another worker has the session now.
  void outdate() { is_outdated_ = true; }
  [[nodiscard]] bool is_outdated() const { return is_outdated_; }
  /// It changed something all the same.
  [[nodiscard]] bool has_intruded() const { return has_intruded_; }

  [[nodiscard]] Result<Receipt> commit(const Lease& lease, const Batch& batch) final;
  [[nodiscard]] Result<Created> create(const NewSession& session, const WorkerId& worker,
                                       const Batch& first) final;
  [[nodiscard]] Result<std::uint64_t> wait_for_change(std::uint64_t since, Duration timeout) final {
    return behind_.wait_for_change(since, timeout);
  }
  [[nodiscard]] StoreInfo info() const final { return behind_.info(); }
  [[nodiscard]] Result<std::vector<Remark>> doctor() final { return behind_.doctor(); }
  [[nodiscard]] Result<void> sync() final { return behind_.sync(); }
  [[nodiscard]] Result<std::string> loss_token() final { return behind_.loss_token(); }

 private:
  // Its own roles; all others are those behind.
  [[nodiscard]] Result<SessionSummary> create(const NewSession& session) final;
  [[nodiscard]] Result<SessionSummary> read(const SessionId& id) final;
  [[nodiscard]] Result<SessionPage> list(const SessionQuery& query) final;
  [[nodiscard]] Result<std::vector<SessionSummary>> due(std::size_t limit) final;
  [[nodiscard]] Result<SessionSummary> annotate(const SessionId& id, const Annotation& part) final;
  [[nodiscard]] Result<void> enroll(const NewWorker& worker) final;
  [[nodiscard]] Result<void> renew(const WorkerId& worker) final;
  [[nodiscard]] Result<void> retire(const WorkerId& worker) final;
  [[nodiscard]] Result<Lease> acquire(const SessionId& session, const WorkerId& worker,
                                      Sync sync) final;
  [[nodiscard]] Result<void> release(const Lease& lease) final;
  [[nodiscard]] Result<ResourceLease> acquire_resource(const std::string& name,
                                                       const WorkerId& worker) final;
  [[nodiscard]] Result<std::optional<Holder>> find_resource(const std::string& name) final;
  [[nodiscard]] Result<Call> read(const SessionId& session, Position call) final;
  [[nodiscard]] Result<std::optional<Call>> find_holder(const Digest& key) final;
  [[nodiscard]] Result<std::vector<Call>> with_key(const Digest& key) final;
  [[nodiscard]] Result<std::vector<Segment>> line(const SessionId& session, Point as_of) final;
  [[nodiscard]] Result<std::optional<Receipt>> find_receipt(const SessionId& session,
                                                            const BatchId& batch) final;
  [[nodiscard]] Result<std::vector<Call>> list(const CallQuery& query) final;

  [[nodiscard]] Mishap next_mishap();
  [[nodiscard]] Result<Receipt> commit_behind(const Lease& lease, const Batch& batch);
  /// `write`, with what is planned for it.
  template <class Write>
  [[nodiscard]] auto with_mishap(Write write) -> decltype(write());
  [[nodiscard]] bool fails_to_read();

  Store& behind_;
  Graves& graves_;
  WorkerId worker_{};
  bool is_dead_ = false;
  bool is_outdated_ = false;
  bool has_intruded_ = false;
  std::uint64_t commit_in_ = 0;
  Mishap mishap_ = Mishap::none;
  std::uint64_t times_ = 0;
  std::uint64_t read_fails_in_ = 0;
};

}  // namespace perdure::simulation
