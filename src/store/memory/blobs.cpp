// Blobs of a memory store. A reference names a blob by hash and size; one with
// another size names nothing.

#include <cstdint>
#include <expected>
#include <fmt/format.h>
#include <string>
#include <string_view>

#include "memory/roles.hpp"
#include "memory/state.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/log.hpp"

namespace perdure::memory {

namespace {

const std::string* find_blob(const State& state, const BlobRef& ref) {
  const auto found = state.blobs.find(ref.digest);
  const bool is_there = found != state.blobs.end() && found->second.bytes.size() == ref.size;
  return is_there ? &found->second.bytes : nullptr;
}

std::unexpected<Error> no_blob(const BlobRef& ref) {
  const std::string name = to_hex(ref.digest);
  return fail(ErrorCode::not_found, fmt::format("there is no blob {} of {} bytes", name, ref.size),
              name);
}

}  // namespace

Result<BlobRef> MemoryStore::put(std::string_view bytes) {
  if (bytes.size() > blob_bytes_max) {
    return fail(
        ErrorCode::invalid_argument,
        fmt::format("the blob has {} bytes, at most {} are allowed", bytes.size(), blob_bytes_max));
  }
  const BlobRef ref{sha256(bytes), bytes.size()};
  return base_.state.with([&](State& state) -> Result<BlobRef> {
    const Timestamp now = base_.clock.now();
    const auto [row, is_new] =
        state.blobs.try_emplace(ref.digest, BlobRow{std::string(bytes), now});
    if (!is_new) row->second.put_at = now;
    state.note_change();
    return ref;
  });
}

Result<std::string> MemoryStore::read(const BlobRef& ref, std::uint64_t offset,
                                      std::uint64_t size) {
  return base_.state.with([&](State& state) -> Result<std::string> {
    const std::string* blob = find_blob(state, ref);
    if (blob == nullptr) return no_blob(ref);
    ++state.counters.rows_read;
    if (offset >= blob->size()) return std::string();
    return blob->substr(offset, size);
  });
}

}  // namespace perdure::memory
