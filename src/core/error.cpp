// The names of the error codes, and the exception.

#include "perdure/core/error.hpp"

#include <array>
#include <cstddef>
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

std::unexpected<Error> fail(ErrorCode code, std::string message, std::string subject) {
  return std::unexpected<Error>(Error{code, std::move(message), std::move(subject)});
}

std::string_view to_string(ErrorCode code) {
  // In the order of the enum, as all_error_codes.
  static constexpr std::array<std::string_view, all_error_codes.size()> names = {
      "invalid_argument", "not_found",   "already_exists", "conflict",
      "lease_held",       "lease_lost",  "commit_unknown", "unavailable",
      "closed",           "unsupported", "corrupted"};
  const auto index = static_cast<std::size_t>(code);
  return index < names.size() ? names.at(index) : "unknown";
}

std::optional<ErrorCode> error_code_from(std::string_view name) {
  for (const ErrorCode code : all_error_codes) {
    if (to_string(code) == name) return code;
  }
  return std::nullopt;
}

}  // namespace perdure
