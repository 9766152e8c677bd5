// What every saver must do with steps.

#include <array>
#include <atomic>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/guarded.hpp"
#include "perdure/runtime/saver.hpp"
#include "perdure/runtime/saver_conformance.hpp"
#include "saver/trial.hpp"

namespace perdure::saver {
namespace {

using StepClaim = CheckpointSaver::StepClaim;
using Step = CheckpointSaver::Step;
using StepHolder = CheckpointSaver::StepHolder;

void require_done(Trial& trial, const std::string& key, const std::string& fingerprint,
                  const std::string& result) {
  const auto answer = trial.saver().claim_step("t", key, fingerprint);
  trial.require_ok(answer, "claim_step");
  const Step* step = answer ? std::get_if<Step>(&*answer) : nullptr;
  trial.require(step != nullptr, "a step that was filled is answered with its result");
  if (step == nullptr) return;
  trial.require(is_same(step->result, json(result)), "the result is the one that was filled in");
  trial.require(step->thread_id == "t" && step->step_key == key && step->fingerprint == fingerprint,
                "a step says what it is");
}

void claimed_once(Trial& trial) {
  trial.claim("t", "k", "f");
  const auto again = trial.saver().claim_step("t", "k", "f");
  trial.require(again && std::holds_alternative<StepHolder>(*again),
                "a step that is being done is not given to a second one");
  trial.claim("t", "another", "f");
  trial.claim("another", "k", "f");
}

void filled_is_replayed(Trial& trial) {
  for (const std::string result : {R"({"a":[1,2]})", "null", "\"text\"", "17"}) {
    trial.fill(trial.claim("t", "key " + result, "f"), result);
    require_done(trial, "key " + result, "f", result);
  }
}

void bound_to_its_request(Trial& trial) {
  const StepClaim claim = trial.claim("t", "k", "first request");
  trial.require_code(trial.saver().claim_step("t", "k", "second request"), ErrorCode::conflict,
                     "claiming a step under way with another fingerprint");
  trial.fill(claim, "1");
  trial.require_code(trial.saver().claim_step("t", "k", "second request"), ErrorCode::conflict,
                     "claiming a done step with another fingerprint");
  require_done(trial, "k", "first request", "1");
}

void released_is_free(Trial& trial) {
  const StepClaim first = trial.claim("t", "k", "f");
  trial.require_ok(trial.saver().release_step(first), "release_step");
  trial.require_ok(trial.saver().release_step(first), "releasing twice");
  const StepClaim second = trial.claim("t", "k", "another");
  trial.require_ok(trial.saver().release_step(first), "releasing a claim that has ended");
  trial.fill(second, "2");
  require_done(trial, "k", "another", "2");
}

void ended_claim_fills_nothing(Trial& trial) {
  const StepClaim first = trial.claim("t", "k", "f");
  trial.require_ok(trial.saver().release_step(first), "release_step");
  trial.require_code(trial.saver().fill_step(first, json("1")), ErrorCode::lease_lost,
                     "filling under a claim that was released");
  const StepClaim second = trial.claim("t", "k", "f");
  trial.require_code(trial.saver().fill_step(first, json("1")), ErrorCode::lease_lost,
                     "filling under an older claim");
  trial.fill(second, "2");
  trial.fill(second, "3");
  trial.require_code(trial.saver().fill_step(first, json("1")), ErrorCode::lease_lost,
                     "filling what another one filled");
  require_done(trial, "k", "f", "2");
}

void listed_in_order(Trial& trial) {
  const StepClaim first = trial.claim("t", "a", "f");
  trial.fill(trial.claim("t", "b", "f"), "2");
  trial.fill(first, "1");
  trial.claim("t", "open", "f");
  const auto steps = trial.saver().list_steps("t");
  trial.require(steps && steps->size() == 2 && steps->at(0).step_key == "b" &&
                    steps->at(1).step_key == "a" && is_same(steps->at(1).result, json("1")),
                "done steps are listed in the order in which they were filled");
  const auto none = trial.saver().list_steps("nobody");
  trial.require(none && none->empty(), "a thread without steps lists none");
}

void outlive_checkpoints(Trial& trial) {
  const auto first = trial.put("t", R"({"n":1})");
  trial.put("t", R"({"n":2})");
  trial.fill(trial.claim("t", "k", "f"), "1");
  trial.put("t", R"({"n":3})", first.id);
  require_done(trial, "k", "f", "1");
}

void every_step_is_found(Trial& trial) {
  constexpr int steps = 120;
  for (int i = 0; i < steps; ++i) {
    trial.fill(trial.claim("t", std::to_string(i), "f"), std::to_string(i));
  }
  for (int i = 0; i < steps; ++i) require_done(trial, std::to_string(i), "f", std::to_string(i));
}

void one_of_many(Trial& trial) {
  std::atomic<int> claims = 0;
  std::atomic<int> failures = 0;
  {
    std::array<std::jthread, 8> threads;
    for (std::jthread& thread : threads) {
      thread = std::jthread([&] {
        const auto answer =
            guarded("the saver", [&] { return trial.saver().claim_step("t", "k", "f"); });
        if (!answer) ++failures;
        if (answer && std::holds_alternative<StepClaim>(*answer)) ++claims;
      });
    }
  }
  trial.require(failures == 0 && claims == 1, "of many who ask at once, one gets the step");
}

void bad_names(Trial& trial) {
  trial.require_code(trial.saver().claim_step("", "k", "f"), ErrorCode::invalid_argument,
                     "a step of a bad thread");
  trial.require_code(trial.saver().claim_step("t", "", "f"), ErrorCode::invalid_argument,
                     "a step without a key");
  trial.require_code(trial.saver().claim_step("t", "k", ""), ErrorCode::invalid_argument,
                     "a step without a fingerprint");
}

}  // namespace

std::vector<SaverCheck> step_checks() {
  return {
      check_of("AStepIsClaimedOnce", claimed_once),
      check_of("AFilledStepIsReplayed", filled_is_replayed),
      check_of("AStepIsBoundToItsRequest", bound_to_its_request),
      check_of("AReleasedStepIsFree", released_is_free),
      check_of("AClaimThatEndedFillsNothing", ended_claim_fills_nothing),
      check_of("StepsAreListedInTheOrderOfFilling", listed_in_order),
      check_of("StepsOutliveCheckpoints", outlive_checkpoints),
      check_of("EveryOfManyStepsIsFound", every_step_is_found),
      check_of("OfManyOneGetsTheStep", one_of_many),
      check_of("ABadNameOfAStepIsRefused", bad_names),
  };
}

}  // namespace perdure::saver
