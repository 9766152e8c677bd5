// What the mirror notes in its folder: whose it is, and which contents it may have left there
// itself (perdure/runtime/scratchpad.hpp has the rule).

#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "perdure/core/sha256.hpp"

namespace perdure::scratch {

/// A file's content; empty: there is no file.
using Content = std::optional<Digest>;

struct MirrorState {
  std::string store{};  ///< Its incarnation.
  std::string session{};
  /// By key. One that is not here has no file of the mirror's.
  std::map<std::string, std::vector<Content>, std::less<>> left{};
  bool operator==(const MirrorState&) const = default;
};

inline constexpr std::string_view state_name = ".mirror.json";

[[nodiscard]] std::string to_json(const MirrorState& state);
/// Empty: that is no such note.
[[nodiscard]] std::optional<MirrorState> mirror_state_from_json(std::string_view text);

}  // namespace perdure::scratch
