// A saver under test.

#include "saver/trial.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "perdure/core/canonical_json.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/guarded.hpp"
#include "perdure/core/raw_json.hpp"
#include "perdure/runtime/saver.hpp"
#include "perdure/runtime/saver_conformance.hpp"

namespace perdure::saver {

void Trial::require(bool holds, std::string_view what) {
  if (!holds && !problem_) problem_ = what;
}

Trial::Checkpoint Trial::put(const std::string& thread, const std::string& state,
                             const std::optional<std::string>& parent) {
  auto made = saver_.put(thread, json(state), parent);
  require_ok(made, "put");
  return made ? *std::move(made) : Checkpoint{};
}

std::optional<Trial::Checkpoint> Trial::get(const std::string& thread,
                                            const std::optional<std::string>& id) {
  auto found = saver_.get(thread, id);
  require_ok(found, "get");
  return found ? *std::move(found) : std::nullopt;
}

std::vector<Trial::Checkpoint> Trial::list(const std::string& thread,
                                           const std::optional<std::string>& before, int limit) {
  auto found = saver_.list(thread, before, limit);
  require_ok(found, "list");
  return found ? *std::move(found) : std::vector<Checkpoint>{};
}

CheckpointSaver::StepClaim Trial::claim(const std::string& thread, const std::string& key,
                                        const std::string& fingerprint) {
  auto answer = saver_.claim_step(thread, key, fingerprint);
  require_ok(answer, "claim_step");
  if (!answer) return {};
  const auto* claim = std::get_if<CheckpointSaver::StepClaim>(&*answer);
  require(claim != nullptr, "a step that is free is given to who asks for it");
  return claim != nullptr ? *claim : CheckpointSaver::StepClaim{};
}

void Trial::fill(const CheckpointSaver::StepClaim& claim, const std::string& result) {
  require_ok(saver_.fill_step(claim, json(result)), "fill_step");
}

void Trial::require_state(const std::optional<Checkpoint>& checkpoint, const std::string& state,
                          std::string_view what) {
  if (!checkpoint) return require(false, std::string(what) + ": there is no checkpoint");
  const auto found = checkpoint->state.read();
  require_ok(found, "reading a state");
  if (found) {
    require(is_same(*found, json(state)),
            std::string(what) + ": the state is " + found->text() + ", not " + state);
  }
}

RawJson json(const std::string& text) { return RawJson::from_text(text).value(); }

bool is_same(const RawJson& a, const RawJson& b) {
  const auto one = canonical_json(a.value());
  const auto other = canonical_json(b.value());
  return one && other && *one == *other;
}

SaverCheck check_of(std::string_view name, void (*body)(Trial&)) {
  return {name, [body](const MakeSaver& make) -> std::optional<std::string> {
            auto saver = guarded("`make`", [&] { return make(); });
            if (!saver) return saver.error().message;
            if (*saver == nullptr) return "no saver was made";
            Trial trial(**saver);
            const auto ran = guarded("the saver", [&] { body(trial); });
            return ran ? trial.problem() : ran.error().message;
          }};
}

}  // namespace perdure::saver
