// The scratchpad of a held session, and its folder.

#pragma once

#include <string>

#include "perdure/core/error.hpp"
#include "session/draft.hpp"

namespace perdure {

struct SessionParts;

/// The session's metadata may name another folder now.
void follow_metadata(SessionParts& parts, const std::string& metadata);

/// Adds what others changed in the folder; to be followed by mirror_scratchpad, once committed.
/// Fails: as Blobs::put.
[[nodiscard]] Result<void> add_outside_edits(SessionParts& parts, Draft& draft);

/// Makes the folder what the state says.
void mirror_scratchpad(SessionParts& parts);

}  // namespace perdure
