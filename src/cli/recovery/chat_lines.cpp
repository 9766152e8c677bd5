// A question is not approved: an empty yes would be told to the model as its answer.

#include "recovery/chat_lines.hpp"

#include <algorithm>
#include <cctype>

#include "context/calls.hpp"
#include "context/command_context.hpp"

namespace perdure::cli {
namespace {

// What follows the command; nothing: the line is another.
std::optional<std::string> rest_of(std::string_view line, std::string_view command) {
  if (!line.starts_with(command)) return std::nullopt;
  line.remove_prefix(command.size());
  if (!line.empty() && line.front() != ' ') return std::nullopt;
  const auto begin = line.find_first_not_of(' ');
  return begin == std::string_view::npos ? std::string() : std::string(line.substr(begin));
}

// The model is told what was said: "no" is a reason of its own.
std::optional<GivenWord> plain_word(std::string_view line) {
  const auto begin = line.find_first_not_of(" \t");
  const auto end = line.find_last_not_of(" \t.!");
  if (begin == std::string_view::npos || end == std::string_view::npos) return std::nullopt;
  const std::string said = lowered(line.substr(begin, end + 1 - begin));
  if (said == "y" || said == "yes") return GivenWord{.allow = true};
  if (said == "n" || said == "no") return GivenWord{.allow = false, .why = "no"};
  return std::nullopt;
}

}  // namespace

WordLine read_word(std::string_view line, const std::optional<Waiting>& waiting) {
  const bool is_question = waiting && asks_people(waiting->tool);
  if (!line.starts_with('/')) {
    if (is_question) return {.word = GivenWord{.allow = true, .why = std::string(line)}};
    return waiting ? WordLine{.word = plain_word(line)} : WordLine{};
  }
  const auto allowed = rest_of(line, "/approve");
  const auto overruled = rest_of(line, "/overrule");
  const auto denied = rest_of(line, "/deny");
  if (!allowed && !overruled && !denied) return {};
  if (!waiting) return {.complaint = "No call waits for a word."};
  if (!denied && is_question) return {.complaint = "It asks a question: type the answer."};
  if (denied && denied->empty()) return {.complaint = "Say why, for the model: /deny REASON"};
  return {.word = GivenWord{.allow = !denied,
                            .overrules = overruled.has_value(),
                            .why = allowed     ? *allowed
                                   : overruled ? *overruled
                                               : *denied}};
}

Result<void> give_word(Session& session, Position call, const GivenWord& word,
                       const std::string& who) {
  if (session.status() == Status::waiting) {
    auto woken = session.set_status({.status = Status::active}, who, "what it waited for is said");
    if (!woken) return woken;
  }
  if (auto heard = session.take_inbox(); !heard) return forward(heard);
  const OpenCall* const open = find_open_call(session.state(), call);
  const Approval* const before =
      open == nullptr ? nullptr : session.state().approvals.find(call, open->args_digest);
  const bool is_denied = before != nullptr && before->decision == ApprovalDecision::refused;
  // An answer to a question makes no call.
  if (!is_denied || !word.allow || asks_people(open->tool)) {
    return session.approve(call, word.allow, who, word.why);
  }
  const std::string by = fmt::format("denied by {} ({})", before->who, before->why);
  if (word.overrules) {
    return session.approve(
        call, true, who,
        fmt::format("{}{}overrules: {}", word.why, word.why.empty() ? "" : "; ", by));
  }
  return fail(ErrorCode::conflict,
              fmt::format("{} was {}. To allow it all the same: /overrule", open->tool, by),
              "call_denied");
}

}  // namespace perdure::cli
