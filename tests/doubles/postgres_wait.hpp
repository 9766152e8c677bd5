// Waiting for something that a server will say of itself sooner or later.

#pragma once

#include <string>

namespace perdure {

/// Asks for one value until it is this one; the server itself takes a little time for each answer.
/// Throws if it is not in a minute.
void wait_for_answer(const std::string& address, const std::string& question,
                     const std::string& answer);

}  // namespace perdure
