// JSON text taken apart into slices of itself, and put together: for texts that must come back byte
// for byte.

#pragma once

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

/// Writes one object, member by member.
class ObjectWriter {
 public:
  void add(std::string_view key, const Json& value);
  /// `text` must be JSON; it goes in as it is.
  void add_raw(std::string_view key, std::string_view text);

  /// The object; the writer starts anew.
  [[nodiscard]] std::string finish();

 private:
  void begin_member(std::string_view key);

  std::string text_ = "{";
};

}  // namespace perdure
