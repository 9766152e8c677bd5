// The entry goes last: what the commit does comes before how it leaves the session.

#include "runtime/api/status_entry.hpp"

#include <optional>
#include <string>
#include <utility>

#include "perdure/runtime/session_values.hpp"
#include "perdure/store/commit.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
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

}  // namespace perdure
