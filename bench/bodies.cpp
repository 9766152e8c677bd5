// A turn has two requests: one after the question, one after the result.

#include "bodies.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <time.h>  // NOLINT(modernize-deprecated-headers): clock_gettime is POSIX, not C++.
#include <variant>
#include <vector>

#include "agent_turns.hpp"
#include "models/dialect.hpp"
#include "perdure/core/error.hpp"
#include "perdure/runtime/state.hpp"
#include "sessions.hpp"
#include "turns.hpp"

namespace perdure::bench {
namespace {

double cpu_ms() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

Message result_of(const PlayedTurn& turn) {
  Message message{.role = Role::user};
  for (const Block& block : turn.call.blocks) {
    const auto* const call = std::get_if<ToolCallBlock>(&block);
    if (call == nullptr) continue;
    message.blocks.emplace_back(ToolResultBlock{.call_id = call->id, .content = turn.result});
  }
  return message;
}

class Bodies {
 public:
  explicit Bodies(const std::string& format)
      : dialect_(format == "chat" ? chat_dialect({}) : anthropic_dialect({})) {}

  /// CPU for the body of a conversation of which so many messages are as they were, in ms.
  double extend(std::size_t kept, std::span<const Message> added) {
    const double before = cpu_ms();
    if (auto updated = body_.update({.setup = setup_, .kept = kept, .messages = added}); !updated) {
      stop("body", updated.error());
    }
    const std::size_t parts = body_.parts().size();
    const double took = cpu_ms() - before;
    if (parts < 3) stop("body", {ErrorCode::conflict, "a body without messages", ""});
    return took;
  }
  [[nodiscard]] std::size_t bytes() const { return body_.bytes(); }

 private:
  Setup setup_{.system_prompt = "Be brief.", .model = "workload"};
  std::unique_ptr<const Dialect> dialect_;
  RequestBody body_{*dialect_};
};

}  // namespace

BodyTimes build_growing_body(const std::string& format, const std::vector<PlayedTurn>& turns,
                             std::size_t count) {
  Bodies bodies(format);
  std::vector<Message> all;
  std::vector<double> times;
  const auto request = [&](const std::vector<Message>& added) {
    const double took = bodies.extend(all.size(), added);
    all.insert(all.end(), added.begin(), added.end());
    times.push_back(took / (static_cast<double>(bodies.bytes()) / 1e6));
  };
  std::vector<Message> next;
  for (std::size_t i = 0; i < count; ++i) {
    const PlayedTurn& turn = turns[i % turns.size()];
    next.push_back(turn.question);
    request(next);
    request({turn.call, result_of(turn)});
    next = {turn.last};
  }
  Bodies afresh(format);
  const double whole = afresh.extend(0, all);
  return {.bytes = bodies.bytes(),
          .extend_ms_per_mb = median_of(times, times.size() - 100, times.size()),
          .whole_ms_per_mb = whole / (static_cast<double>(afresh.bytes()) / 1e6)};
}

}  // namespace perdure::bench
