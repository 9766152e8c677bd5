// The store as one process sees it: a process that may die at any commit, of which nobody may
// know whether it was made, and that nobody hears any more once it is dead.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/store/ownership.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"

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

class MortalStore final : public Store {
 public:
  /// Both must outlive it.
  MortalStore(Store& behind, Graves& graves);
  ~MortalStore() override;

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
  [[nodiscard]] Sessions& sessions() final;
  [[nodiscard]] Ownership& ownership() final;
  [[nodiscard]] Log& log() final { return behind_.log(); }
  [[nodiscard]] Ledger& ledger() final;
  [[nodiscard]] Inbox& inbox() final { return behind_.inbox(); }
  [[nodiscard]] Blobs& blobs() final { return behind_.blobs(); }
  [[nodiscard]] Changes& changes() final { return behind_.changes(); }
  [[nodiscard]] Retention& retention() final { return behind_.retention(); }
  [[nodiscard]] Upkeep& upkeep() final { return behind_.upkeep(); }
  [[nodiscard]] Transfer& transfer() final { return behind_.transfer(); }

 private:
  class MortalSessions;
  class MortalOwnership;
  class MortalLedger;

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
  std::unique_ptr<MortalSessions> sessions_;
  std::unique_ptr<MortalOwnership> ownership_;
  std::unique_ptr<MortalLedger> ledger_;
};

}  // namespace perdure::simulation
