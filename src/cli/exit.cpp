// Errors are chosen by what the caller can do; so are exit codes, and they mostly agree.

#include "exit.hpp"

#include <string_view>

#include "perdure/core/error.hpp"

namespace perdure::cli {

Exit exit_for(const Error& error) {
  if (error.subject == "authority") return Exit::not_authorised;
  // Of this kind of store it cannot be asked: that says nothing about its format.
  if (error.subject == "operation") return Exit::usage;
  // Somebody has to accept that its agent has changed, or is somebody else's; or that a call is denied.
  if (error.subject == "agent_changed" || error.subject == "agent_refused" ||
      error.subject == "agent_imported" || error.subject == "call_denied") {
    return Exit::unconfirmed;
  }
  if (error.subject == "store_in_use") return Exit::in_use;
  switch (error.code) {
    case ErrorCode::invalid_argument:
      return Exit::usage;
    case ErrorCode::not_found:
      return Exit::not_found;
    case ErrorCode::lease_held:
    case ErrorCode::lease_lost:
      return Exit::in_use;
    case ErrorCode::corrupted:
      return Exit::damaged;
    case ErrorCode::unsupported:
      return Exit::unsupported;
    case ErrorCode::already_exists:
    case ErrorCode::conflict:
    case ErrorCode::commit_unknown:
    case ErrorCode::unavailable:
    case ErrorCode::closed:
      return Exit::failed;
  }
  return Exit::failed;
}

std::string_view meaning_of(Exit exit) {
  switch (exit) {
    case Exit::done:
      return "done";
    case Exit::failed:
      return "failed";
    case Exit::usage:
      return "the command line makes no sense";
    case Exit::not_found:
      return "not found, or ambiguous";
    case Exit::not_authorised:
      return "not authorised";
    case Exit::in_use:
      return "the session or the store is in use";
    case Exit::damaged:
      return "damage was found";
    case Exit::in_doubt:
      return "stopped: a call is in doubt";
    case Exit::resting:
      return "stopped: paused or waiting";
    case Exit::unconfirmed:
      return "confirmation needed, or refused";
    case Exit::unsupported:
      return "the store's format is not supported";
    case Exit::interrupted:
      return "interrupted by Ctrl-C; perdure resume goes on";
    case Exit::terminated:
      return "ended by SIGTERM or SIGHUP; perdure resume goes on";
  }
  return "";
}

}  // namespace perdure::cli
