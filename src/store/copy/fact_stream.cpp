// A slice without facts is not the end: only its cursor says so.

#include "copy/fact_stream.hpp"

#include <optional>
#include <utility>
#include <variant>

#include "perdure/core/error.hpp"
#include "perdure/store/facts.hpp"
#include "perdure/store/log.hpp"

namespace perdure::copy {

std::optional<BlobRef> blob_of(const Fact& fact) {
  if (const auto* entry = std::get_if<Entry>(&fact)) return entry->body.blob();
  if (const auto* message = std::get_if<MessageFact>(&fact)) return message->message.body.blob();
  return std::nullopt;
}

Result<const Fact*> FactStream::next() {
  while (is_slice_done()) {
    if (slice_.next.is_end()) return nullptr;
    auto read = read_(slice_.next);
    if (!read) return forward(read);
    slice_ = *std::move(read);
    at_ = 0;
  }
  return &slice_.facts[at_++];
}

}  // namespace perdure::copy
