// What changed from one text to the next: parts of the old one that stay, and new text
// between them.
//
// Its JSON is `{"size": 40, "parts": [[0, 12], "new text", [20, 20]]}`: a pair is a range
// of the text before (offset, bytes), a string is new; `size` is the whole's. Texts are
// UTF-8, and are cut between characters only. Some have a gist (gist.hpp) besides.

#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "perdure/core/error.hpp"
#include "saver/match.hpp"

namespace perdure::saver {

struct Range {
  std::size_t from = 0;
  std::size_t size = 0;

  bool operator==(const Range&) const = default;
};

using Part = std::variant<Range, std::string>;

/// What a range holds: all of it in `front`; or its first and last bytes and, of the core between
/// them, the tag.
struct Brief {
  std::string front{};
  std::string tag{};  ///< Of the core, in base64; empty if there is none.
  std::string back{};

  bool operator==(const Brief&) const = default;
};

struct Gist {
  std::string key{};     ///< Its hash is the key of the tags.
  std::size_t cost = 0;  ///< Of the changes up to this one, gists not counted (thread_log.hpp).
  std::vector<Brief> briefs{};  ///< One for each range.

  bool operator==(const Gist&) const = default;
};

struct Delta {
  std::size_t size = 0;  ///< Of the text it makes.
  std::vector<Part> parts{};
  std::optional<Gist> gist{};

  bool operator==(const Delta&) const = default;
};

[[nodiscard]] Delta diff(std::string_view base, std::string_view next);
/// The delta that these matches with some text make, in the order of `next`.
[[nodiscard]] Delta to_delta(const std::vector<Match>& matches, std::string_view next);

/// Whether a text can be cut there.
[[nodiscard]] bool is_between_characters(std::string_view text, std::size_t at);

[[nodiscard]] std::string to_json(const Delta& delta);
/// Fails: `unsupported` for a newer version; `corrupted` for anything else that is none.
[[nodiscard]] Result<Delta> delta_from_json(std::string_view text);

/// A core that only its tag is known of.
struct Core {
  std::size_t size = 0;
  std::string tag{};

  bool operator==(const Core&) const = default;
};

/// What is known of a text without reading all of it: its pieces in order, none missing.
using KnownPiece = std::variant<std::string, Core>;
using KnownText = std::vector<KnownPiece>;

/// Makes the text that a row of deltas leads to, from the last delta to the first. What is still
/// wanted is a few ranges of the text before; what a delta brings new is kept with its place. So
/// no delta has to stay in memory, and nothing is copied that is not part of the text.
class Folding {
 public:
  /// `size` is that of the last delta.
  explicit Folding(std::size_t size);

  /// Takes the next delta, in the order from the last to the first.
  /// Fails: `corrupted` if what came after does not fit it.
  [[nodiscard]] Result<void> go_back(const Delta& delta);

  /// Takes the text before the first delta, and gives the one that was made. Ends this.
  /// Fails: `corrupted` if the deltas do not fit it.
  [[nodiscard]] Result<std::string> finish(std::string_view base);

  /// Takes the next delta, which has a gist, and tells what is known without going further
  /// back; nothing if that leaves a core that is wanted in part. Ends this.
  [[nodiscard]] Result<std::optional<KnownText>> finish_by_gist(const Delta& delta);

 private:
  /// A part of the text to be made that is still to be found, in the text before.
  struct Wanted {
    std::size_t to = 0;
    Range range{};
  };

  /// A piece of the text to be made that was found.
  struct Found {
    std::size_t to = 0;
    KnownPiece piece{};
  };

  void find(const Delta& delta, Wanted wanted);
  void take(const Part& part, std::size_t to, Range inside);
  void want(std::size_t to, Range range);
  bool take_brief(const Brief& brief, Range all, Wanted wanted);
  void add_text(std::size_t to, std::string_view text);

  std::size_t size_ = 0;
  std::vector<Found> found_;
  std::vector<Wanted> wanted_;
  std::vector<Wanted> before_;       ///< What is wanted of the text before the delta in hand.
  std::vector<std::size_t> starts_;  ///< Where the parts of the delta in hand begin.
};

}  // namespace perdure::saver
