// A slice without facts is not the end: only its cursor says so.

#include "copy/fact_stream.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <variant>

#include "copy/fact_codec.hpp"
#include "core/api/sha256.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/store/log.hpp"
#include "store/api/transfer.hpp"

namespace perdure::copy {

std::optional<BlobRef> blob_of(const Fact& fact) {
  if (const auto* entry = std::get_if<Entry>(&fact)) return entry->body.blob();
  if (const auto* message = std::get_if<MessageFact>(&fact)) return message->message.body.blob();
  return std::nullopt;
}

std::uint64_t new_attempt() {
  const Digest digest = sha256(to_base32(random_ids().next()));
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < 7; ++i) number = number << 8U | digest.at(i);
  return number + 1;
}

Result<Digest> trace(Transfer& transfer, const FactSource& source) {
  Sha256 hash;
  for (FactCursor next; next.kind < FactKind::entry;) {
    auto slice = transfer.read(source, next);
    if (!slice) return forward(slice);
    hash.update_sized(bundle::pack(*slice));
    next = std::move(slice->next);
  }
  return hash.finish();
}

FactStream::FactStream(Transfer& transfer, FactSource source, FactCursor from)
    : FactStream(
          [&transfer, source = std::move(source)](const FactCursor& at) -> Result<FactSlice> {
            auto slice = transfer.read(source, at);
            if (slice && slice->attempt != source.arrival.attempt) {
              return fail(ErrorCode::lease_lost, "another attempt has discarded the arrival");
            }
            return slice;
          },
          std::move(from)) {}

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
