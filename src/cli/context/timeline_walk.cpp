// A model's step begins with its request, a tool's with its last attempt. While neither is open nothing
// is under way, and that time is left out of the waterfall.

#include "context/timeline_walk.hpp"

#include <variant>

#include "agent/api/agent.hpp"
#include "context/calls.hpp"
#include "context/command_context.hpp"
#include "core/api/json_text.hpp"
#include "runtime/api/records.hpp"

namespace perdure::cli {
namespace {

const ToolResultBlock* result_in(const Message& message) {
  for (const Block& block : message.blocks) {
    if (const auto* result = std::get_if<ToolResultBlock>(&block)) return result;
  }
  return nullptr;
}

// What a letter's kind says was done.
std::string done_by(const std::string& kind, const Json& body) {
  if (kind == "resolve") return "resolved as " + text_in(body, "decision");
  if (kind == "pause") return "paused";
  if (kind == "cancel") return "cancelled";
  if (kind != "approve") return kind;
  const Json* allow = body.find("allow");
  return allow != nullptr && *allow == Json(true) ? "approved" : "denied";
}

std::string words_of(const Message& message) {
  std::string words = text_of(message);
  for (const Block& block : message.blocks) {
    if (const auto* call = std::get_if<ToolCallBlock>(&block)) {
      words += fmt::format("{}→ {}", words.empty() ? "" : " ", call->name);
    }
  }
  return words;
}

}  // namespace

std::string TimelineRow::number_text() const {
  return kind == "user" || kind == "inbox" || kind == "status"
             ? std::to_string(number.turn)
             : fmt::format("{}.{}", number.turn, number.step);
}

bool TimelineRow::is_problem() const {
  return !state.empty() && state != "done" && state != "succeeded" && state != "intended";
}

TimelineRow TimelineWalk::row_of(const Entry& entry, std::string kind) const {
  return {.number = number_,
          .kind = std::move(kind),
          .start = entry.at,
          .offset = busy_,
          .tally = entry.tally,
          .position = entry.position};
}

std::optional<TimelineRow> TimelineWalk::take(const Entry& entry) {
  number_ = counter_.take(entry);
  if (entry.channel == "transcript") {
    answered_at_ = entry.tally.turns > 0 ? std::optional(entry.at) : std::nullopt;
  }
  const bool is_busy = asked_at_.has_value() || !open_.empty();
  if (last_ && is_busy && entry.at > *last_) busy_ += entry.at - *last_;
  last_ = entry.at;
  if (entry.condition != Condition::intact) {
    TimelineRow row = row_of(entry, "damaged");
    row.what = fmt::format("{}/{} at {}", entry.channel, entry.kind, entry.position);
    row.state = entry.condition == Condition::erased ? "erased" : "damaged";
    return row;
  }
  if (entry.channel == "transcript") return take_message(entry);
  if (entry.channel == "requests") return take_request(entry);
  if (entry.channel == "calls") take_call_record(entry);
  if (entry.channel == "status") return take_status(entry);
  if (entry.channel != "inbox" || entry.kind == "message") return std::nullopt;
  letter_ = entry.kind;
  letter_at_ = entry.at;
  TimelineRow row = row_of(entry, "inbox");
  row.what = letter_words(entry);
  return row;
}

// That a session rests after a turn, and continues with the next one, the turns themselves say;
// what a letter did, the letter.
std::optional<TimelineRow> TimelineWalk::take_status(const Entry& entry) {
  const auto note = status_note_from_json(entry.kind, entry.body.bytes());
  if (!note) return std::nullopt;
  const bool is_asked_for = (letter_ == "pause" && note->status == Status::paused) ||
                            (letter_ == "cancel" && note->status == Status::cancelled);
  const bool is_letters = is_asked_for && entry.at == letter_at_;  // In one commit with it.
  const bool is_rest = answered_at_ == entry.at && note->status == Status::waiting;
  const bool is_next = is_resting_ && note->status == Status::active;
  is_resting_ = is_rest;
  if (is_letters || is_rest || is_next) return std::nullopt;
  TimelineRow row = row_of(entry, "status");
  row.what = status_words(*note);
  row.who = note->who;
  row.why = note->why;
  return row;
}

std::string TimelineWalk::letter_words(const Entry& entry) const {
  if (entry.kind == "ended_worker") return "the process that ran it has ended";
  if (entry.kind == "child_result") return "a child has ended";
  const auto body = parse_json(entry.body.bytes());
  if (!body || !body->is_object()) return entry.kind;
  std::string done = done_by(entry.kind, *body);
  std::string too_late;
  if (const Json* const call = body->find("call")) {
    const auto found = open_.find(static_cast<Position>(call->as_int64().value_or(0)));
    const bool is_open = found != open_.end();
    if (is_open && asks_people(found->second.tool) && done == "approved") done = "answered";
    const bool is_made = is_open && !found->second.attempts.empty();
    if (!is_open || (entry.kind == "approve" && is_made)) too_late = " (too late)";
  }
  const std::string why = text_in(*body, "why");
  return fmt::format("{} by {}{}{}", done, text_in(*body, "who"), too_late,
                     why.empty() ? "" : ": " + why);
}

std::optional<TimelineRow> TimelineWalk::take_request(const Entry& entry) {
  if (entry.kind == "request") {
    asked_at_ = entry.at;
    asked_offset_ = busy_;
    return std::nullopt;
  }
  const auto asked = std::exchange(asked_at_, std::nullopt);
  if (entry.kind != "lost") return std::nullopt;
  TimelineRow row = row_of(entry, "model");
  row.what = "its response was lost; it counts as spent";
  row.state = "lost";
  row.start = asked.value_or(entry.at);
  return row;
}

std::optional<TimelineRow> TimelineWalk::take_message(const Entry& entry) {
  const auto message = message_from_json(entry.body.bytes());
  if (!message) return std::nullopt;
  if (message->role == Role::user) {
    if (const ToolResultBlock* result = result_in(*message)) return take_result(entry, *result);
    TimelineRow row = row_of(entry, "user");
    row.what = text_of(*message);
    return row;
  }
  TimelineRow row = row_of(entry, "model");
  row.what = words_of(*message);
  row.state = message->is_partial ? "partial" : "done";
  row.is_cost_known = !has_unknown_cost(*message);
  if (const auto asked = std::exchange(asked_at_, std::nullopt)) {
    row.start = *asked;
    row.took = entry.at - *asked;
    row.offset = asked_offset_;
  }
  return row;
}

std::optional<TimelineRow> TimelineWalk::take_result(const Entry& entry,
                                                     const ToolResultBlock& result) {
  const auto outcome = outcome_of(result);
  TimelineRow row = row_of(entry, "tool");
  row.what = result.call_id;
  if (!outcome) return row;
  row.call = outcome->call;
  if (outcome->state) row.state = to_string(*outcome->state);
  const auto found = open_.find(outcome->call);
  if (found == open_.end()) return row;
  row.what = found->second.tool;
  row.start = found->second.since;
  row.offset = found->second.offset;
  row.attempts = found->second.attempts;
  if (!row.attempts.empty()) row.took = entry.at - row.start;
  if (outcome->is_final()) open_.erase(found);
  // Its request may be written down with the call, before the model can be asked.
  if (asked_at_ && open_.empty()) {
    asked_at_ = entry.at;
    asked_offset_ = busy_;
  }
  return row;
}

void TimelineWalk::take_call_record(const Entry& entry) {
  if (entry.kind == "intent") {
    const auto intent = intent_from_json(entry.body.bytes());
    if (intent) open_[entry.position] = {.tool = intent->tool, .since = entry.at, .offset = busy_};
  } else if (entry.kind == "attempt") {
    auto attempt = attempt_from_json(entry.body.bytes());
    if (!attempt) return;
    Open& call = open_[attempt->call];
    call.since = entry.at;
    call.offset = busy_;
    call.attempts.push_back(*std::move(attempt));
  } else if (entry.kind == "doubt") {
    const auto doubt = doubt_from_json(entry.body.bytes());
    if (doubt) open_[doubt->call].doubt = doubt->why;
  }
}

std::vector<TimelineRow> TimelineWalk::open_rows() const {
  std::vector<TimelineRow> rows;
  for (const auto& [call, open] : open_) {
    rows.push_back(
        {.number = {number_.turn, number_.step + 1 + static_cast<std::int64_t>(rows.size())},
         .kind = "tool",
         .what = open.tool,
         .state = !open.doubt.empty()      ? "in_doubt"
                  : !open.attempts.empty() ? "dispatched"
                                           : "intended",
         .call = call,
         .attempts = open.attempts,
         .start = open.since,
         .offset = open.offset,
         .position = call});
  }
  return rows;
}

}  // namespace perdure::cli
