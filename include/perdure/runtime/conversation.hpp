// A conversation as values: its messages, the setup that a model gets before them, and the plan
// that an agent follows; and the conversation as a provider may be sent it.
//
// Members and blocks that this version does not know are kept and written back as they were. What a
// model wrote or signed (arguments, reasoning metadata), and what a provider's cache is keyed by
// (parameters, schemas), is kept byte for byte.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "perdure/core/json.hpp"
#include "perdure/core/time.hpp"

namespace perdure {

struct State;

/// Who a message is from. Results of tools are in messages of role `user`.
enum class Role : std::uint8_t { user, assistant, system };

/// Members that a value was read with and has no field for, in their order.
using Unknown = std::vector<std::pair<std::string, RawJson>>;

/// What a user or a model says.
struct TextBlock {
  std::string text{};
  Unknown unknown{};
  bool operator==(const TextBlock&) const = default;
};

/// What a model thought. `metadata` holds what its vendor must get back unchanged.
struct ReasoningBlock {
  std::string text{};
  RawJson metadata = RawJson::from_value(Json::Object{});
  Unknown unknown{};
  bool operator==(const ReasoningBlock&) const = default;
};

/// A call of a tool that a model asks for. Whether it is made, and what became of it, is in the log
/// of the session.
struct ToolCallBlock {
  std::string id{};  ///< The provider's; never identity.
  std::string name{};
  /// As the model wrote them. Text that is not JSON is kept too: it was paid for.
  std::string args = "{}";
  Unknown unknown{};
  bool operator==(const ToolCallBlock&) const = default;
};

/// The answer to a call. Every call gets one before the model is asked again.
struct ToolResultBlock {
  std::string call_id{};
  std::string content{};  ///< Any bytes.
  bool is_error = false;
  Unknown unknown{};
  bool operator==(const ToolResultBlock&) const = default;
};

/// A block of a kind this version does not know.
struct OtherBlock {
  RawJson json{};
  bool operator==(const OtherBlock&) const = default;
};

/// A part of a message.
using Block = std::variant<TextBlock, ReasoningBlock, ToolCallBlock, ToolResultBlock, OtherBlock>;

/// Its id and its time are given by the session that appends it.
struct Message {
  std::string id{};
  Role role = Role::user;
  Timestamp created_at{};
  std::vector<Block> blocks{};
  /// Cut off before its end: shown to people, never sent to a model as if it were whole.
  bool is_partial = false;
  Unknown unknown{};

  bool operator==(const Message&) const = default;
};

/// A message of one text block, without id and time: the session that appends it gives both.
[[nodiscard]] Message user_says(std::string text);
[[nodiscard]] Message assistant_says(std::string text);

/// All text blocks, one after the other.
[[nodiscard]] std::string text_of(const Message& message);

/// A tool as the model sees it.
struct ToolDefinition {
  std::string name{};
  std::string description{};
  RawJson input_schema = RawJson::from_value(Json::Object{});
  Unknown unknown{};
  bool operator==(const ToolDefinition&) const = default;
};

/// What a model gets before the conversation. A session resumes with it.
struct Setup {
  std::string system_prompt{};
  std::string model{};
  RawJson parameters = RawJson::from_value(Json::Object{});
  std::vector<ToolDefinition> tools{};
  Unknown unknown{};
  bool operator==(const Setup&) const = default;
};

/// A blocked step is left out: the plan can be finished without it.
enum class StepStatus : std::uint8_t { pending, in_progress, done, blocked };

/// A part of the work, with what shows that it is done.
struct PlanStep {
  std::string id{};  ///< "s1", "s2" …
  std::string description{};
  StepStatus status = StepStatus::pending;
  std::optional<std::string> evidence{};
  std::string notes{};
  Unknown unknown{};
  bool operator==(const PlanStep&) const = default;
};

/// What must be true when the work is done.
struct Postcondition {
  std::string description{};
  bool is_satisfied = false;
  std::optional<std::string> evidence{};
  Unknown unknown{};
  bool operator==(const Postcondition&) const = default;
};

/// What an agent set out to do, and how it knows that it is done. A step is done, and a
/// postcondition satisfied, only with evidence: a claim is not enough.
struct Plan {
  std::string id{};
  std::string objective{};
  Timestamp created_at{};
  std::vector<PlanStep> steps{};
  std::vector<Postcondition> postconditions{};
  Unknown unknown{};
  bool operator==(const Plan&) const = default;

  /// Every step is done, with evidence, or blocked; every postcondition is satisfied, with
  /// evidence. A plan without either is ready.
  [[nodiscard]] bool is_ready_to_finish() const;
};

/// The conversation as a provider may be sent it. A log may stop anywhere; here it is made whole by
/// statements that are true, and always the same for the same log:
/// - Every tool_call of an assistant's message has exactly one tool_result, in the message right
///   after it, first and in the order of the calls. In place of a missing one: the call was not
///   started, or its outcome is unknown.
/// - No other message has a tool_call or a tool_result. An outcome that came after "in doubt" is
///   text in its place.
/// - Calls and results are paired by turn; within one message, ids are made different.
/// - Of a message that was cut off only the text is left, with a mark. None is empty.
[[nodiscard]] std::vector<Message> provider_messages(const State& state);

}  // namespace perdure
