// The names of the error codes, and the exception.

#include "perdure/core/error.hpp"

#include <expected>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "core/api/error_codes.hpp"

namespace perdure {

Failure::Failure(Error error)
    : std::runtime_error(error.message), code_(error.code), subject_(std::move(error.subject)) {}
Failure::~Failure() = default;

std::unexpected<Error> fail(ErrorCode code, std::string message, std::string subject) {
  return std::unexpected<Error>(Error{code, std::move(message), std::move(subject)});
}

std::string_view to_string(ErrorCode code) {
  // No default: the compiler then names a code that is missing here.
  switch (code) {
    case ErrorCode::invalid_argument:
      return "invalid_argument";
    case ErrorCode::not_found:
      return "not_found";
    case ErrorCode::already_exists:
      return "already_exists";
    case ErrorCode::conflict:
      return "conflict";
    case ErrorCode::lease_held:
      return "lease_held";
    case ErrorCode::lease_lost:
      return "lease_lost";
    case ErrorCode::commit_unknown:
      return "commit_unknown";
    case ErrorCode::unavailable:
      return "unavailable";
    case ErrorCode::closed:
      return "closed";
    case ErrorCode::unsupported:
      return "unsupported";
    case ErrorCode::corrupted:
      return "corrupted";
  }
  return "unknown";
}

std::optional<ErrorCode> error_code_from(std::string_view name) {
  for (const ErrorCode code : all_error_codes) {
    if (to_string(code) == name) return code;
  }
  return std::nullopt;
}

}  // namespace perdure
