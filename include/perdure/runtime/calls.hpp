// The calls of a session: whether one may be made, what it waits for, how far it is. The ledger
// (store/ledger.hpp) has the state of a call.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "perdure/core/time.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"

namespace perdure {

/// From lax to strict.
enum class Permit : std::uint8_t { allow, ask, deny };

[[nodiscard]] std::string_view to_string(Permit permit);

/// Whether a call may be made, and why not, or why a person is asked.
struct PermitDecision {
  Permit permit = Permit::deny;
  std::string why{};  ///< Empty for `allow`; of `deny`: what the model is told.
  bool operator==(const PermitDecision&) const = default;

  [[nodiscard]] static PermitDecision allow() { return {.permit = Permit::allow}; }
  [[nodiscard]] static PermitDecision ask(std::string why) {
    return {.permit = Permit::ask, .why = std::move(why)};
  }
  [[nodiscard]] static PermitDecision deny(std::string why) {
    return {.permit = Permit::deny, .why = std::move(why)};
  }
};

/// Why the session cannot continue by itself.
struct Waiting {
  enum class For : std::uint8_t {
    approval,  ///< A person has to allow the call before it is made.
    decision,  ///< It is in doubt: a person has to resolve it.
    time,      ///< It is asked again at `until`.
  };
  Position call = 0;
  std::string tool{};
  For what = For::decision;
  std::string why{};
  std::optional<Timestamp> until{};
  bool operator==(const Waiting&) const = default;
};

/// What the dispatcher did about the calls of a session, as far as it could.
struct CallsReport {
  std::uint64_t run = 0;       ///< Attempts made, first and later ones.
  std::uint64_t retried = 0;   ///< Of these, attempts after the first of their call.
  std::uint64_t verified = 0;  ///< Asked whether they took effect.
  std::uint64_t replayed = 0;  ///< Answered by what another call had done already.
  std::uint64_t refused = 0;   ///< Not made: no such tool, bad arguments, blocked, not approved.
  std::uint64_t in_doubt = 0;  ///< Became in doubt, or still are.
  /// Empty: every call is answered and the model may be asked.
  std::optional<Waiting> waiting{};
  bool operator==(const CallsReport&) const = default;
};

inline constexpr std::size_t progress_line_bytes_max = 500;
inline constexpr std::size_t progress_lines_max = 2000;

/// How far a call is, reported while it runs, a line at a time. It is not recorded, and the model
/// does not see it. Of one call at most `progress_lines_max` lines are passed on, each cut to
/// `progress_line_bytes_max`. A secret is found in a line, not across two. Any thread of the tool
/// may use it; lines after the tool has returned are dropped.
class ToolProgress {
 public:
  using Tell = std::function<void(std::string_view line)>;

  /// Without an observer.
  ToolProgress() = default;
  explicit ToolProgress(Tell tell) : tell_(std::move(tell)) {}

  /// Does nothing without an observer.
  void operator()(std::string_view line) const {
    if (tell_) tell_(line);
  }
  [[nodiscard]] bool is_watched() const { return static_cast<bool>(tell_); }

 private:
  Tell tell_;
};

}  // namespace perdure
