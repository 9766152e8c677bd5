// The gist of a change: enough to tell whether a new state still holds what the change kept,
// without reading that.
//
// A put in a fresh process has the new state in hand, and of the old one only what it reads.
// Nearly all of the old state is in the new one; so it is looked for there. The gist
// has the first and last bytes of each range that the change kept, and the tag of the core
// between them (poly1305.hpp). Where a core of the new state has that tag, it is the old
// one's. Around that the text is known from the changes themselves, and is compared.
//
// A put that keeps only a part of a core cannot be told by this: then the old state is
// read, as it is where no gist is near.

#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "saver/delta.hpp"

namespace perdure::saver {

/// Every so many changes, one has a gist: a fresh process reads no more than these.
inline constexpr std::size_t gist_every = 8;
/// A smaller state is read in less time than it takes to open the store.
inline constexpr std::size_t gist_state_bytes_min = std::size_t{256} << 10U;

/// Of a delta that makes `next`; nothing if it keeps too many ranges for a brief word.
/// `key` must be new and not to be guessed, `cost` is the gist's.
[[nodiscard]] std::optional<Gist> make_gist(const Delta& delta, std::string_view next,
                                            const std::string& key, std::size_t cost);

/// As diff, from what is known of the base; nothing if that does not tell, or if so much of
/// `next` would be new that the base may hold some of it after all. The key is the gist's.
[[nodiscard]] std::optional<Delta> diff_known(const KnownText& base, const std::string& key,
                                              std::string_view next);

}  // namespace perdure::saver
