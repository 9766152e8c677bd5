// Every reader of entries decides by this one rule what a missing blob means.

#include "perdure/store/blobs.hpp"

#include <utility>

#include "perdure/core/error.hpp"
#include "perdure/store/body.hpp"
#include "perdure/store/entry.hpp"

namespace perdure {

Result<void> load_blob(Blobs& blobs, Entry& entry) {
  const auto ref = entry.body.blob();
  if (!ref || entry.condition != Condition::intact) return {};
  auto bytes = blobs.get(*ref);
  if (bytes) {
    entry.body = Body::from_text(*std::move(bytes));
    return {};
  }
  const ErrorCode code = bytes.error().code;
  if (code != ErrorCode::not_found && code != ErrorCode::corrupted) return forward(bytes);
  entry.condition = Condition::damaged;
  return {};
}

}  // namespace perdure
