// Notes of changes of status, to JSON and back.

#include "perdure/runtime/status_note.hpp"

#include <fmt/format.h>
#include <string>
#include <string_view>

#include "perdure/core/error.hpp"
#include "perdure/core/raw_json.hpp"
#include "perdure/store/sessions.hpp"
#include "runtime/api/fields.hpp"

namespace perdure {

std::string_view status_kind(Status status) {
  switch (status) {
    case Status::active:
      return "session_resumed";
    case Status::waiting:
      return "session_waiting";
    case Status::paused:
      return "session_paused";
    case Status::completed:
      return "session_completed";
    case Status::failed:
      return "session_failed";
    case Status::cancelled:
      return "session_cancelled";
  }
  return "";
}

std::string to_json(const StatusNote& note) {
  ObjectWriter writer;
  values::add_bytes(writer, "who", note.who);
  values::add_bytes(writer, "why", note.why);
  values::add_unknown(writer, note.unknown);
  return writer.finish();
}

Result<StatusNote> status_note_from_json(std::string_view kind, std::string_view text) {
  auto note = values::read_value<StatusNote>(text, "change of status",
                                             [](values::Fields& fields, StatusNote& read) {
                                               fields.take_bytes("who", read.who);
                                               fields.take_bytes("why", read.why);
                                             });
  if (!note) return note;
  for (const Status status : {Status::active, Status::waiting, Status::paused, Status::completed,
                              Status::failed, Status::cancelled}) {
    if (status_kind(status) != kind) continue;
    note->status = status;
    return note;
  }
  return fail(ErrorCode::invalid_argument, fmt::format("{} is no change of a status", kind));
}

}  // namespace perdure
