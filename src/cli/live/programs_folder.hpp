// Where the programs of agents are on record while they run (ExecSpec::state_folder).
//
// Beside a store that is a file, so that whoever takes a session of it up on this machine finds them,
// with whatever home, as whichever user; for a store on a server in the state folder, one for each
// incarnation.

#pragma once

#include <string>

#include "perdure/core/error.hpp"
#include "perdure/store/store.hpp"
#include "world.hpp"

namespace perdure::cli {

[[nodiscard]] std::string programs_folder(const World& world, const std::string& location,
                                          Store& store);

/// Whoever may write beside it may write there. Whoever needs it says what it lacks.
/// Fails: `unavailable` for a link; about "authority" for a folder that belongs neither to us, nor to
/// root, nor to whoever owns the store: what lies there names processes that we end.
[[nodiscard]] Result<void> make_programs_folder(const World& world, const std::string& folder,
                                                const std::string& location);

}  // namespace perdure::cli
