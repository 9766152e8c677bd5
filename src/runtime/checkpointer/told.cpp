// From a log to texts, and from two texts to what is new.
//
// Texts are compared as bytes first: a serialiser that writes the same twice is the rule. Only
// where they differ are they compared as JSON, so that other white space is no change.

#include "checkpointer/told.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "perdure/core/canonical_json.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/raw_json.hpp"
#include "perdure/runtime/budget.hpp"
#include "perdure/runtime/checkpointer.hpp"
#include "perdure/runtime/origin.hpp"
#include "perdure/runtime/read.hpp"
#include "perdure/runtime/status_note.hpp"
#include "perdure/store/blobs.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/store.hpp"

namespace perdure::checkpointing {
namespace {

bool is_same_json(std::string_view a, std::string_view b) {
  if (a == b) return true;
  const auto left = parse_json(a);
  const auto right = parse_json(b);
  if (!left || !right) return false;
  const auto canonical_left = canonical_json(*left);
  const auto canonical_right = canonical_json(*right);
  return canonical_left && canonical_right && *canonical_left == *canonical_right;
}

NewEntry entry_of(std::string channel, std::string kind, std::string_view text) {
  return {.channel = std::move(channel),
          .kind = std::move(kind),
          .body = Body::from_text(std::string(text))};
}

// What was replaced is gone, also if what replaced it cannot be read.
bool take_in_message(Told& told, const Entry& entry) {
  if (entry.fold == Fold::replace) told.messages.clear();
  if (entry.condition != Condition::intact || entry.body.codec() != Codec::json) return false;
  told.messages.push_back(entry.body.bytes());
  return true;
}

bool take_in_plan(Told& told, const Entry& entry) {
  if (entry.condition != Condition::intact || entry.body.codec() != Codec::json) return false;
  told.plan.reset();
  if (entry.body.bytes() != "null") told.plan = entry.body.bytes();
  return true;
}

bool take_in_money(Told& told, const Entry& entry) {
  if (entry.condition != Condition::intact) return false;
  const auto change = budget_entry_from_json(entry.kind, entry.body.bytes());
  return change && replay(told.budget, *change);
}

bool take_in_origin(Told& told, const Entry& entry) {
  if (entry.kind != "origin") return entry.condition == Condition::intact;
  told.origin.reset();
  told.has_lost_origin = true;
  if (entry.condition != Condition::intact) return false;
  auto origin = origin_from_json(entry.body.bytes());
  if (!origin) return false;
  told.origin = *std::move(origin);
  told.has_lost_origin = false;
  return true;
}

// Of no use to those who load the session, so it is not missing either.
void take_in_status(Told& told, const Entry& entry) {
  if (entry.condition != Condition::intact) return;
  auto note = status_note_from_json(entry.kind, entry.body.bytes());
  if (!note) return;
  note->position = entry.position;
  told.status = *std::move(note);
}

bool is_told(const Entry& entry) {
  return entry.channel == "transcript" || entry.channel == "plan" || entry.channel == "budget" ||
         entry.channel == "origin";
}

Result<void> add_messages(const Told& told, const RawJson& transcript,
                          std::vector<NewEntry>& entries) {
  const auto elements = split_array(transcript.text());
  if (!elements) return fail(ErrorCode::invalid_argument, "the transcript is no list of messages");
  if (elements->empty() && !told.messages.empty()) {
    return fail(ErrorCode::invalid_argument, "the transcript is empty, and was not: load it first");
  }
  const bool goes_on =
      elements->size() >= told.messages.size() &&
      std::equal(told.messages.begin(), told.messages.end(), elements->begin(), is_same_json);
  for (std::size_t i = goes_on ? told.messages.size() : 0; i < elements->size(); ++i) {
    entries.push_back(entry_of("transcript", "message", (*elements)[i]));
    if (!goes_on && i == 0) entries.back().fold = Fold::replace;
  }
  return {};
}

void add_plan(const Told& told, const std::optional<RawJson>& plan,
              std::vector<NewEntry>& entries) {
  const bool is_none = !plan || plan->value().is_null();
  const std::string_view text = is_none ? std::string_view("null") : plan->text();
  if (is_same_json(told.plan ? std::string_view(*told.plan) : "null", text)) return;
  entries.push_back(entry_of("plan", "plan", text));
  entries.back().fold = Fold::replace;
}

Result<void> add_money(const Told& told, std::int64_t spent, std::vector<NewEntry>& entries) {
  const std::int64_t before = told.budget.totals.spent;
  if (spent < before) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("{} micros were spent in all, and {} before: what was paid stays paid; "
                            "load the session and go on from there",
                            spent, before));
  }
  if (spent == before) return {};
  Budget budget = told.budget;
  auto change = enter(budget, {.change = BudgetChange::spend, .micros = spent - before});
  if (!change) return forward(change);
  entries.push_back(entry_of("budget", std::string(to_string(change->change)), to_json(*change)));
  entries.back().tally.cost_micros = spent - before;
  return {};
}

}  // namespace

void take_in(Told& told, const Entry& entry) {
  // Of an entry whose row was zeroed, not even the channel is known: it may be any of these.
  bool is_read = !entry.channel.empty() || entry.condition != Condition::damaged;
  if (!is_read && !told.origin) told.has_lost_origin = true;
  if (entry.channel == "transcript") is_read = take_in_message(told, entry);
  if (entry.channel == "plan") is_read = take_in_plan(told, entry);
  if (entry.channel == "budget") is_read = take_in_money(told, entry);
  if (entry.channel == "origin") is_read = take_in_origin(told, entry);
  if (entry.channel == "status") take_in_status(told, entry);
  if (!is_read) told.missing.push_back(entry.position);
}

Result<Told> read_told(Store& store, const SessionId& session, Point as_of) {
  Told told;
  auto read = read_line(store, session, as_of, [&](Entry& entry) -> Result<void> {
    // A session that was also run by the runtime may have large messages in blobs.
    if (is_told(entry)) {
      if (auto loaded = load_blob(store.blobs(), entry); !loaded) return loaded;
    }
    take_in(told, entry);
    return {};
  });
  if (!read) return forward(read);
  return told;
}

Result<Checkpointer::Content> content_of(const Told& told) {
  std::size_t size = 2;
  for (const std::string& message : told.messages) size += message.size() + 1;
  std::string list;
  list.reserve(size);
  list += '[';
  for (const std::string& message : told.messages) {
    if (list.size() > 1) list += ',';
    list += message;
  }
  list += ']';
  auto transcript = RawJson::from_text(std::move(list));
  // As deep as JSON may be, and in a list one deeper.
  if (!transcript) return forward(transcript);
  Checkpointer::Content content{.transcript = *std::move(transcript),
                                .spent_micros = told.budget.totals.spent};
  if (told.plan) content.plan = RawJson::from_text(*told.plan).value();
  return content;
}

Result<std::vector<NewEntry>> changes_to(const Told& told, const Checkpointer::Content& content) {
  std::vector<NewEntry> entries;
  if (auto added = add_messages(told, content.transcript, entries); !added) return forward(added);
  add_plan(told, content.plan, entries);
  if (auto added = add_money(told, content.spent_micros, entries); !added) return forward(added);
  return entries;
}

Result<std::vector<NewEntry>> messages_of(const RawJson& list) {
  std::vector<NewEntry> entries;
  if (auto added = add_messages({}, list, entries); !added) return forward(added);
  return entries;
}

}  // namespace perdure::checkpointing
