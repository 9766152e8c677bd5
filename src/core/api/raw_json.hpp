// JSON text taken apart into slices of itself, and put together: for texts that must come back byte
// for byte.

#pragma once

#include <cstddef>
#include <forward_list>
#include <string>
#include <string_view>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"

namespace perdure {

/// A member of an object: its value is a slice of the object's text.
struct RawMember {
  std::string key{};
  std::string_view value{};

  bool operator==(const RawMember&) const = default;
};

/// The members of the object that `text` is, in order, duplicates too; the slices live as long
/// as `text` does.
/// Fails: `invalid_argument` if it is not JSON, or another kind of value.
[[nodiscard]] Result<std::vector<RawMember>> split_object(std::string_view text);

/// As split_object, for the elements of an array.
[[nodiscard]] Result<std::vector<std::string_view>> split_array(std::string_view text);

/// A value inside a text that was read once.
struct RawPart {
  std::string_view key{};    ///< Of a member, without quotes and escapes.
  std::string_view value{};  ///< A slice of the text.
  std::size_t end = 0;       ///< Its own parts are those between it and this index.
  bool is_taken = false;     ///< For what goes through the parts.
};

/// An object with the parts of its parts: split_object, level by level, would read nested text
/// once for each level around it. First the object itself, then its parts, each before its own. An
/// array has parts if it begins with an object; the elements of others are many and small.
struct RawParts {
  std::vector<RawPart> list{};
  std::forward_list<std::string> keys{};  ///< Those that were written with escapes.
};

/// Fails: as split_object.
[[nodiscard]] Result<RawParts> read_parts(std::string_view text);

/// Writes one object, member by member.
class ObjectWriter {
 public:
  void add(std::string_view key, const Json& value);
  /// `text` must be JSON; it goes in as it is.
  void add_raw(std::string_view key, std::string_view text);

  /// The object. Resets the writer.
  [[nodiscard]] std::string finish();

 private:
  void begin_member(std::string_view key);

  std::string text_ = "{";
};

}  // namespace perdure
