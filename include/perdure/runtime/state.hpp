// What a session is: its conversation, setup and plan, its budget, counters and notes; and the
// State that is folded from its log: live, over each commit, and at resume, over all of it.
//
// Folding never fails: an entry that is erased, damaged or not what its kind says is passed over,
// and what it would have replaced stays in force (Upkeep::check finds damage). Channels this
// version does not know are the user's, and kept as they are.
//
// Members and blocks that this version does not know are kept and written back as they were. What a
// model wrote or signed (arguments, reasoning metadata), and what a provider's cache is keyed by
// (parameters, schemas), is kept byte for byte.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "perdure/core/json.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/log.hpp"

namespace perdure {

struct StateDetails;

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

/// Money of a session, in millionths of a dollar. Each is at least 0, and their sum fits 64 bits.
///
/// The most that a request can cost is reserved before it is made; its response turns that into
/// what was spent. Where the cost is not known, it is `unconfirmed`, and counts as spent until it
/// is recorded. A child session gets a grant, and returns what it did not spend. What was paid is
/// recorded even beyond the limit; only a reservation or a grant is refused there.
struct BudgetTotals {
  std::optional<std::int64_t> limit{};  ///< Empty: none.
  std::int64_t spent = 0;
  std::int64_t unconfirmed = 0;
  std::int64_t reserved = 0;
  std::int64_t granted = 0;
  Unknown unknown{};
  bool operator==(const BudgetTotals&) const = default;

  /// spent + unconfirmed + reserved + granted; the largest number there is if they do not fit.
  [[nodiscard]] std::int64_t recorded() const;
  /// What may still be reserved or granted, 0 if the limit is reached. Empty: no limit.
  [[nodiscard]] std::optional<std::int64_t> available() const;
};

/// The most that a request may cost that was not answered yet, or whose cost is unconfirmed.
struct Reservation {
  std::int64_t micros = 0;
  std::string what{};
  bool is_unconfirmed = false;
  bool operator==(const Reservation&) const = default;
};

/// The budget of a session: its totals, and what is still open of them.
struct Budget {
  BudgetTotals totals{};
  std::map<std::string, Reservation, std::less<>> reservations{};  ///< Open ones, by id.
  std::map<std::string, std::int64_t, std::less<>> grants{};       ///< Open ones, by child session.
  bool operator==(const Budget&) const = default;

  [[nodiscard]] std::optional<std::int64_t> available() const { return totals.available(); }
};

/// Numbers that a session counts by name: retries, nudges, rounds.
struct Counters {
  std::map<std::string, std::int64_t, std::less<>> values{};
  Unknown unknown{};
  bool operator==(const Counters&) const = default;

  /// 0 for one that was never counted.
  [[nodiscard]] std::int64_t at(std::string_view name) const;
};

using ScratchValue = std::variant<std::string, BlobRef>;

/// Notes that an agent keeps beside the conversation, by key. They may also be files of a folder,
/// which people may edit: `scratchpad: {folder: PATH}` of an agent file.
struct Scratchpad {
  std::map<std::string, ScratchValue, std::less<>> values{};
  bool operator==(const Scratchpad&) const = default;
};

/// A message of the conversation, and its place in the log.
struct PlacedMessage {
  Position position = 0;
  Message message{};
  bool operator==(const PlacedMessage&) const = default;
};

/// An entry of a user's channel.
struct ChannelItem {
  Position position = 0;
  std::string kind{};
  Body body{};
  bool operator==(const ChannelItem&) const = default;
};

/// The part of a State that only Perdure reads; a value.
class DetailsOfState {
 public:
  DetailsOfState();
  ~DetailsOfState();
  DetailsOfState(const DetailsOfState& other);
  DetailsOfState(DetailsOfState&& other) noexcept;
  DetailsOfState& operator=(DetailsOfState other) noexcept;
  bool operator==(const DetailsOfState& other) const;

  StateDetails* operator->() { return details_.get(); }
  const StateDetails* operator->() const { return details_.get(); }

 private:
  std::unique_ptr<StateDetails> details_;  // Never null.
};

/// As of one position of a session. A value: it does not change when the session continues.
struct State {
  Position head = 0;          ///< Of the last entry folded; 0: none.
  std::uint64_t entries = 0;  ///< How many were folded.
  Tally totals{};             ///< What all entries folded add up to, passed over or not.
  std::optional<Setup> setup{};
  std::vector<PlacedMessage> transcript{};  ///< By position.
  std::optional<Plan> plan{};
  Budget budget{};
  Counters counters{};
  Scratchpad scratchpad{};
  /// After a `replace` entry one item, and what was appended since.
  std::map<std::string, std::vector<ChannelItem>, std::less<>> channels{};
  DetailsOfState details{};
  bool operator==(const State&) const = default;
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

/// How two versions of a session differ, or a session and its fork.
struct Difference {
  /// Positions of messages that only b has, and that only a has. Where both have another
  /// message at one position, as two forks may, it is in both lists.
  std::vector<Position> messages_added{};
  std::vector<Position> messages_removed{};
  bool is_setup_changed = false;
  bool is_plan_changed = false;
  bool is_budget_changed = false;
  std::vector<std::string> counters{};    ///< Names whose numbers differ.
  std::vector<std::string> scratchpad{};  ///< Keys whose values differ.
  std::vector<std::string> channels{};    ///< The user's, whose items differ.
  bool operator==(const Difference&) const = default;

  [[nodiscard]] bool is_empty() const { return *this == Difference{}; }
};

}  // namespace perdure
