// A file that says `refuse` is not overruled by whoever resumes: its author is.

#include "loop/agreed_changes.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <string>
#include <vector>

#include "perdure/agent/agent.hpp"
#include "perdure/core/error.hpp"
#include "perdure/runtime/state.hpp"

namespace perdure::loop {

Result<std::vector<std::string>> agreed_changes(const AgentSpec& spec, const Origin& origin,
                                                const ResumeOptions& options) {
  if (spec.digest.empty()) return {};
  std::vector<std::string> changed = changed_parts(origin.agent_digest, spec.digest);
  if (changed.empty() || spec.on_change == OnChange::go_on) return changed;
  const std::string what = fmt::format(
      "the session was begun with another agent; changed since: {}", fmt::join(changed, ", "));
  if (spec.on_change == OnChange::refuse) {
    return fail(ErrorCode::conflict, what + "; this agent goes on with none but its own sessions",
                "agent_refused");
  }
  if (!options.accepted_by.empty()) return changed;
  return fail(ErrorCode::conflict, what + "; it goes on if somebody accepts that", "agent_changed");
}

}  // namespace perdure::loop
