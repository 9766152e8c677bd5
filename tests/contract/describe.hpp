// Everything a store returns, as text: what failing tests print, and what two
// stores are compared by. Every field is in it, so equal text is equal value.

#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "perdure/store/store.hpp"
#include "store/api/lookup.hpp"

namespace perdure {

[[nodiscard]] std::string describe(bool value);
[[nodiscard]] std::string describe(const std::string& value);
[[nodiscard]] std::string describe(Timestamp value);
[[nodiscard]] std::string describe(ErrorCode value);
[[nodiscard]] std::string describe(Status value);
[[nodiscard]] std::string describe(CallState value);
/// Code and subject: the message is for people, and free.
[[nodiscard]] std::string describe(const Error& value);
[[nodiscard]] std::string describe(const Point& value);
[[nodiscard]] std::string describe(const Tally& value);
[[nodiscard]] std::string describe(const Body& value);
[[nodiscard]] std::string describe(const BlobRef& value);
[[nodiscard]] std::string describe(const Entry& value);
[[nodiscard]] std::string describe(const Checkpoint& value);
[[nodiscard]] std::string describe(const Segment& value);
[[nodiscard]] std::string describe(const Receipt& value);
[[nodiscard]] std::string describe(const Call& value);
[[nodiscard]] std::string describe(const InboxMessage& value);
[[nodiscard]] std::string describe(const Holder& value);
[[nodiscard]] std::string describe(const Lease& value);
[[nodiscard]] std::string describe(const ResourceLease& value);
[[nodiscard]] std::string describe(const SessionSummary& value);
[[nodiscard]] std::string describe(const SessionPage& value);
[[nodiscard]] std::string describe(const Pruned& value);
[[nodiscard]] std::string describe(const Freed& value);

template <class T>
[[nodiscard]] std::string describe(const std::optional<T>& value) {
  return value ? describe(*value) : "none";
}

template <class T>
  requires requires(const T& value) { describe(value); }
[[nodiscard]] std::string describe(const std::vector<T>& values) {
  std::string text = "[";
  for (const T& value : values) text += "\n  " + describe(value);
  return text + "]";
}

template <class T>
[[nodiscard]] std::string describe(const Result<T>& result) {
  return result ? describe(*result) : describe(result.error());
}

[[nodiscard]] inline std::string describe(const Result<void>& result) {
  return result ? "done" : describe(result.error());
}

template <class T>
  requires requires(const T& value) { describe(value); }
void PrintTo(const T& value, std::ostream* out) {
  *out << describe(value);
}

}  // namespace perdure
