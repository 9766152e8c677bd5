// The saver over a store that make_saver() and open_saver() give out: for tests, which count what its
// store does.

#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "perdure/adapters/saver.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/store/store.hpp"

namespace perdure {

class StoreSaver final : public CheckpointSaver {
 public:
  explicit StoreSaver(std::shared_ptr<Store> store, const SaverOptions& options = {});
  ~StoreSaver() override;
  StoreSaver(const StoreSaver&) = delete;
  StoreSaver& operator=(const StoreSaver&) = delete;

  [[nodiscard]] Result<std::optional<Checkpoint>> get(
      const std::string& thread_id, const std::optional<std::string>& checkpoint_id = {}) override;
  [[nodiscard]] Result<Checkpoint> put(const std::string& thread_id, RawJson state,
                                       const std::optional<std::string>& parent_id = {},
                                       const RawJson& metadata = no_metadata()) override;
  [[nodiscard]] Result<std::vector<Checkpoint>> list(const std::string& thread_id,
                                                     const std::optional<std::string>& before = {},
                                                     int limit = 10) override;
  [[nodiscard]] Result<void> remove(const std::string& thread_id) override;
  [[nodiscard]] Result<ClaimAnswer> claim_step(const std::string& thread_id,
                                               const std::string& step_key,
                                               const std::string& fingerprint) override;
  [[nodiscard]] Result<void> fill_step(const StepClaim& claim, const RawJson& result) override;
  [[nodiscard]] Result<void> release_step(const StepClaim& claim) override;
  [[nodiscard]] Result<std::vector<Step>> list_steps(const std::string& thread_id) override;

 private:
  struct Parts;
  // Owned alone. A shared_ptr only hides its deleter, which deletes nothing in a forked child.
  std::shared_ptr<Parts> parts_;
};

}  // namespace perdure
