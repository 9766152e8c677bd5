// What changed from one text to the next: parts of the old one that stay, and new text
// between them.
//
// Its JSON is `{"size": 40, "parts": [[0, 12], "new text", [20, 20]]}`: a pair is a range
// of the text before (offset, bytes), a string is new; `size` is the whole's. Texts are
// UTF-8, and are cut between characters only.

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "perdure/core/error.hpp"

namespace perdure::saver {

struct Range {
  std::size_t from = 0;
  std::size_t size = 0;

  bool operator==(const Range&) const = default;
};

using Part = std::variant<Range, std::string>;

struct Delta {
  std::size_t size = 0;  ///< Of the text it makes.
  std::vector<Part> parts{};

  bool operator==(const Delta&) const = default;
};

[[nodiscard]] Delta diff(std::string_view base, std::string_view next);

[[nodiscard]] std::string to_json(const Delta& delta);
/// Fails: `unsupported` for a newer version; `corrupted` for anything else that is none.
[[nodiscard]] Result<Delta> delta_from_json(std::string_view text);

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

 private:
  /// A part of the text to be made that is still to be found, in the text before.
  struct Wanted {
    std::size_t to = 0;
    Range range{};
  };

  /// A piece of the text to be made that was found.
  struct Found {
    std::size_t to = 0;
    std::string text{};
  };

  void find(const Delta& delta, Wanted wanted);
  void take(const Part& part, std::size_t to, Range inside);
  void want(std::size_t to, Range range);

  std::size_t size_ = 0;
  std::vector<Found> found_;
  std::vector<Wanted> wanted_;
  std::vector<Wanted> before_;       ///< What is wanted of the text before the delta in worker.
  std::vector<std::size_t> starts_;  ///< Where the parts of the delta in hand begin.
};

// What two texts have in common, as ranges.
//
// First what they begin and end with: a state whose list grew is done with that. Then, for
// what is left, stretches whose borders are chosen by the text itself, so that text that
// moved has the same borders wherever it stands, and each one found is widened as far as
// it goes. That needs no knowledge of JSON, and finds a nested list or a growing
// string as well as a list at the top.

/// `base.substr(from, size)` is `next.substr(to, size)`.
struct Match {
  std::size_t from = 0;
  std::size_t to = 0;
  std::size_t size = 0;

  bool operator==(const Match&) const = default;
};

/// In the order of `next`, not overlapping there. Not every match there is.
[[nodiscard]] std::vector<Match> find_matches(std::string_view base, std::string_view next);

}  // namespace perdure::saver
