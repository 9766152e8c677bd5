// The entries of a change of status go last: what the commit does comes before how it leaves the
// session. Text that does not fit a row is changed where it does not fit, and the rest can be read.

#include "writer/draft.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "core/api/text.hpp"
#include "perdure/core/error.hpp"
#include "perdure/runtime/calls.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "runtime/api/records.hpp"

namespace perdure {
Status status_in_log(const std::optional<StatusNote>& last, Position inherited) {
  return last && last->position > inherited ? last->status : Status::active;
}

NewEntry status_entry(const StatusNote& note) {
  return {.channel = "status",
          .kind = std::string(status_kind(note.status)),
          .fold = Fold::replace,
          .body = Body::from_text(to_json(note))};
}

void note_status(Batch& batch, const StatusKnown& before, StatusReason reason) {
  if (!batch.status) return;
  if (before.status != before.in_log) {
    const std::string& words = before.wait_reason;
    batch.entries.push_back(
        status_entry({.status = before.status,
                      .who = "store",
                      .why = words.empty() ? "its row came so into this store" : words}));
  }
  // They were made where the session came from (a bundle, a backup), or before it ended.
  const bool is_reopened = has_ended(before.status) && !has_ended(batch.status->status);
  if (before.restored || (is_reopened && before.has_open_calls)) {
    batch.entries.push_back(
        {.channel = "approvals", .kind = std::string(voided_kind), .body = Body::from_text("{}")});
  }
  const StatusChange& change = *batch.status;
  if (change.status == before.status && change.wait_reason == before.wait_reason) return;
  if (reason.why.empty()) reason.why = change.wait_reason;
  if (reason.why.empty()) reason.why = "no reason was given";
  batch.entries.push_back(status_entry(
      {.status = change.status, .who = std::move(reason.who), .why = std::move(reason.why)}));
}

namespace {

constexpr std::string_view left_out = "…";

bool is_control(std::string_view character) {
  const auto lead = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return lead < 0x20 || lead == 0x7F;
  return character.size() == 2 && lead == 0xC2 && static_cast<unsigned char>(character[1]) < 0xA0;
}

bool is_of_lines(std::string_view character) {
  return character == "\n" || character == "\r" || character == "\t";
}

}  // namespace

std::string row_text(std::string_view words, std::size_t bytes_max) {
  std::string fitting;
  std::size_t cut_at = 0;  // Where there is room left for the mark.
  while (!words.empty() && fitting.size() <= bytes_max) {
    const std::string_view character = first_character(words);
    const bool fits = !character.empty() && (is_of_lines(character) || !is_control(character));
    fitting += fits ? character : "?";
    words.remove_prefix(std::max<std::size_t>(1, character.size()));
    if (fitting.size() + left_out.size() <= bytes_max) cut_at = fitting.size();
  }
  if (fitting.size() <= bytes_max) return fitting;
  return fitting.substr(0, cut_at).append(left_out);
}

std::string row_name(std::string_view name) {
  std::string fitting = row_text(name, name_bytes_max);
  std::ranges::replace_if(fitting, [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, '?');
  if (fitting.starts_with(' ')) fitting.front() = '?';
  if (fitting.ends_with(' ')) fitting.back() = '?';
  return fitting.empty() ? "?" : fitting;
}

void fit_rows(Batch& batch) {
  for (CallChange& change : batch.calls) {
    auto* const settled = std::get_if<Settle>(&change);
    if (settled == nullptr) continue;
    settled->why = row_text(settled->why, text_bytes_max);
    if (!settled->who.empty()) settled->who = row_name(settled->who);
  }
  if (!batch.status) return;
  batch.status->wait_reason = row_text(batch.status->wait_reason, text_bytes_max);
}

Result<void> add_budget_change(Draft& draft, Budget& budget, BudgetEntry wanted) {
  auto entered = enter(budget, std::move(wanted));
  if (!entered) return forward(entered);
  draft.add(appending("budget", std::string(to_string(entered->change)), to_json(*entered)));
  return {};
}

Result<void> add_end_of_request(Draft& draft, const Request& request, Budget& budget,
                                const RequestEnd& end) {
  if (!request.reservation.empty()) {
    auto entry = add_budget_change(
        draft, budget,
        {.change = end.may_be_paid ? BudgetChange::unconfirmed : BudgetChange::release,
         .subject = request.reservation,
         .what = end.why});
    if (!entry) return entry;
  }
  draft.add(appending("requests", end.may_be_paid ? "lost" : "withdrawn", to_json(request)));
  return {};
}

// The log is read before the store is asked: what could be lost in between was not read either.
Result<bool> is_known_unsent(Store& store, const Request& request) {
  if (!request.is_ahead || request.loss_token.empty()) return false;
  auto now = store.loss_token();
  if (!now) return forward(now);
  return *now == request.loss_token;
}

Budget budget_after(const Budget& now, const Draft& draft) {
  Budget budget = now;
  for (const NewEntry& entry : draft.batch.entries) {
    if (entry.channel != "budget") continue;
    const auto change = budget_entry_from_json(entry.kind, entry.body.bytes());
    if (!change) continue;
    [[maybe_unused]] const auto replayed = replay(budget, *change);
  }
  return budget;
}

Result<void> add_request(Draft& draft, IdSource& ids, Budget& budget, NewRequest request) {
  Request& made = request.request;
  const auto open = budget.reservations.find(made.reservation);
  const std::int64_t reserved = open == budget.reservations.end() ? 0 : open->second.micros;
  if (request.reserve_micros != reserved) {
    if (made.reservation.empty()) made.reservation = mint<BatchTag>(ids).text();
    auto entry = add_budget_change(draft, budget,
                                   {.change = BudgetChange::reserve,
                                    .subject = made.reservation,
                                    .micros = request.reserve_micros,
                                    .what = made.model});
    if (!entry) return entry;
  }
  draft.add(appending("requests", "request", to_json(made)));
  return {};
}

}  // namespace perdure
