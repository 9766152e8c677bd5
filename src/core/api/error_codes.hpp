// The error codes as a list: for texts that name one, and for tests.

#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "perdure/core/error.hpp"

namespace perdure {

/// Every code, in the order of the enum.
inline constexpr std::array all_error_codes = {
    ErrorCode::invalid_argument, ErrorCode::not_found,   ErrorCode::already_exists,
    ErrorCode::conflict,         ErrorCode::lease_held,  ErrorCode::lease_lost,
    ErrorCode::commit_unknown,   ErrorCode::unavailable, ErrorCode::closed,
    ErrorCode::unsupported,      ErrorCode::corrupted,
};

/// The reverse of to_string; nothing for any other text.
[[nodiscard]] std::optional<ErrorCode> error_code_from(std::string_view name);

}  // namespace perdure
