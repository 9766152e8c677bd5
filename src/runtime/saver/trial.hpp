// A saver under test: does what a check asks, and remembers the first thing that was wrong.

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/raw_json.hpp"
#include "perdure/runtime/saver.hpp"
#include "perdure/runtime/saver_conformance.hpp"

namespace perdure::saver {

class Trial {
 public:
  using Checkpoint = CheckpointSaver::Checkpoint;

  explicit Trial(CheckpointSaver& saver) : saver_(saver) {}

  [[nodiscard]] CheckpointSaver& saver() { return saver_; }
  [[nodiscard]] const std::optional<std::string>& problem() const { return problem_; }

  void require(bool holds, std::string_view what);
  template <class T>
  void require_ok(const Result<T>& result, std::string_view what) {
    if (!result) require(false, std::string(what) + " failed: " + result.error().message);
  }
  template <class T>
  void require_code(const Result<T>& result, ErrorCode code, std::string_view what) {
    require(!result && result.error().code == code,
            std::string(what) + " must fail with " + std::string(to_string(code)));
  }

  /// Each answers with something empty after a failure.
  Checkpoint put(const std::string& thread, const std::string& state,
                 const std::optional<std::string>& parent = {});
  std::optional<Checkpoint> get(const std::string& thread,
                                const std::optional<std::string>& id = {});
  std::vector<Checkpoint> list(const std::string& thread,
                               const std::optional<std::string>& before = {}, int limit = 10);
  /// The claim, which must be given.
  CheckpointSaver::StepClaim claim(const std::string& thread, const std::string& key,
                                   const std::string& fingerprint);
  void fill(const CheckpointSaver::StepClaim& claim, const std::string& result);

  void require_state(const std::optional<Checkpoint>& checkpoint, const std::string& state,
                     std::string_view what);

 private:
  CheckpointSaver& saver_;
  std::optional<std::string> problem_;
};

[[nodiscard]] RawJson json(const std::string& text);
/// Whether both are the same JSON value.
[[nodiscard]] bool is_same(const RawJson& a, const RawJson& b);

/// The check of that name.
[[nodiscard]] SaverCheck check_of(std::string_view name, void (*body)(Trial&));

[[nodiscard]] std::vector<SaverCheck> step_checks();

}  // namespace perdure::saver
