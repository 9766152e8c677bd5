// A store with something of everything in it, and what it looks like from outside: what is
// copied, and what two stores are compared by.

#pragma once

#include <string>
#include <vector>

#include "doubles/fake_clock.hpp"
#include "perdure/store/store.hpp"

namespace perdure {

enum class Size : std::uint8_t { small, large, crowded };

/// Forks, branches, a fork of a removed session, a child, calls in every state, keys of removed
/// sessions, what was pruned and erased, blobs, an inbox, a resource. Large: also a session that takes
/// many slices; crowded: sessions that do. Nobody owns anything afterwards.
void furnish(Store& store, FakeClock& clock, Size size);

/// All that can be asked of a store, up to the numbers of segments, and to what a move changes:
/// who owned a session, its revision, where it went.
[[nodiscard]] std::string portrait(Store& store);

/// Which sessions can be run there.
[[nodiscard]] std::vector<std::string> runnable(Store& store);

}  // namespace perdure
