// Savers with one mistake each, over one that has none.

#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "perdure/adapters/saver.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"

namespace perdure {

/// Hands everything on.
class PassingSaver : public CheckpointSaver {
 public:
  Result<std::optional<Checkpoint>> get(const std::string& thread_id,
                                        const std::optional<std::string>& id) override {
    return good_->get(thread_id, id);
  }
  Result<Checkpoint> put(const std::string& thread_id, RawJson state,
                         const std::optional<std::string>& parent_id,
                         const RawJson& metadata) override {
    return good_->put(thread_id, std::move(state), parent_id, metadata);
  }
  Result<std::vector<Checkpoint>> list(const std::string& thread_id,
                                       const std::optional<std::string>& before,
                                       int limit) override {
    return good_->list(thread_id, before, limit);
  }
  Result<void> remove(const std::string& thread_id) override { return good_->remove(thread_id); }
  Result<ClaimAnswer> claim_step(const std::string& thread_id, const std::string& step_key,
                                 const std::string& fingerprint) override {
    return good_->claim_step(thread_id, step_key, fingerprint);
  }
  Result<void> fill_step(const StepClaim& claim, const RawJson& result) override {
    return good_->fill_step(claim, result);
  }
  Result<void> release_step(const StepClaim& claim) override { return good_->release_step(claim); }
  Result<std::vector<Step>> list_steps(const std::string& thread_id) override {
    return good_->list_steps(thread_id);
  }

 protected:
  [[nodiscard]] CheckpointSaver& good() { return *good_; }

 private:
  std::unique_ptr<CheckpointSaver> good_ = open_saver(":memory:").value();
};

class EndlessList final : public PassingSaver {
 public:
  Result<std::vector<Checkpoint>> list(const std::string& thread_id,
                                       const std::optional<std::string>& before,
                                       int /*limit*/) override {
    return good().list(thread_id, before, 1000);
  }
};

class LaxBefore final : public PassingSaver {
 public:
  Result<std::vector<Checkpoint>> list(const std::string& thread_id,
                                       const std::optional<std::string>& before,
                                       int limit) override {
    auto listed = good().list(thread_id, before, limit);
    if (!listed || !before) return listed;
    auto itself = good().get(thread_id, before);
    if (itself && *itself) listed->insert(listed->begin(), **itself);
    return listed;
  }
};

/// Keeps one state a thread, as if by reference.
class LatestState final : public PassingSaver {
 public:
  Result<std::optional<Checkpoint>> get(const std::string& thread_id,
                                        const std::optional<std::string>& id) override {
    auto found = good().get(thread_id, id);
    auto latest = good().get(thread_id);
    if (found && *found && latest && *latest) (*found)->state = (*latest)->state;
    return found;
  }
};

/// Forgets which request a step answers.
class UnboundSteps final : public PassingSaver {
 public:
  Result<ClaimAnswer> claim_step(const std::string& thread_id, const std::string& step_key,
                                 const std::string& fingerprint) override {
    auto answer = good().claim_step(thread_id, step_key, fingerprint);
    const bool unbound = !answer && answer.error().code == ErrorCode::conflict;
    if (!unbound) return answer;
    const auto steps = good().list_steps(thread_id).value();
    for (const Step& step : steps) {
      if (step.step_key == step_key) return ClaimAnswer(step);
    }
    return ClaimAnswer(StepHolder{});
  }
};

/// A cache that says "not there" until it is filled.
class UnclaimedSteps final : public PassingSaver {
 public:
  Result<ClaimAnswer> claim_step(const std::string& thread_id, const std::string& step_key,
                                 const std::string& fingerprint) override {
    auto answer = good().claim_step(thread_id, step_key, fingerprint);
    if (answer && std::holds_alternative<StepHolder>(*answer)) {
      return ClaimAnswer(StepClaim{.thread_id = thread_id, .step_key = step_key, .token = "any"});
    }
    return answer;
  }
};

/// Wraps what is no object, where it should refuse it.
class TakesAnything final : public PassingSaver {
 public:
  Result<Checkpoint> put(const std::string& thread_id, RawJson state,
                         const std::optional<std::string>& parent_id,
                         const RawJson& metadata) override {
    const bool is_object = state.value().is_object() && metadata.value().is_object();
    if (is_object) return good().put(thread_id, std::move(state), parent_id, metadata);
    return good().put(thread_id, RawJson::from_value(Json::Object{}), parent_id);
  }
};

}  // namespace perdure
