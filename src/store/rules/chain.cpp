// To change what is hashed, or in which order, is to change the store's format.

#include "rules/chain.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/commit.hpp"
#include "perdure/store/entry.hpp"

namespace perdure::rules {

namespace {

std::string_view view_of(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

/// Takes what a Sha256 takes, and keeps the bytes.
class Kept {
 public:
  void update(std::string_view bytes) { bytes_.append(bytes); }
  void update_number(std::uint64_t number) {
    for (unsigned i = 0; i < 8; ++i) bytes_.push_back(static_cast<char>(number >> (56 - 8 * i)));
  }
  void update_sized(std::string_view bytes) {
    update_number(bytes.size());
    update(bytes);
  }
  [[nodiscard]] std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

template <class Hash>
void add_signed(Hash& hash, std::int64_t number) {
  hash.update_number(static_cast<std::uint64_t>(number));
}

void add_time(Sha256& hash, Timestamp time) { add_signed(hash, time.time_since_epoch().count()); }

template <class Hash>
void add_batch(Hash& hash, const BatchId& batch) {
  hash.update_sized("perdure commit");
  hash.update_sized(batch.text());
}

void add_head(Sha256& hash, const BatchId& batch, Timestamp at, std::uint64_t entries) {
  add_batch(hash, batch);
  add_time(hash, at);
  hash.update_number(entries);
}

template <class Hash, class AnyEntry>
void add_timeless(Hash& hash, const AnyEntry& entry, const Digest& body) {
  hash.update_sized(entry.channel);
  hash.update_sized(entry.kind);
  hash.update_number(static_cast<std::uint64_t>(entry.fold));
  hash.update_number(static_cast<std::uint64_t>(entry.body.codec()));
  hash.update(view_of(body));
  add_signed(hash, entry.tally.turns);
  add_signed(hash, entry.tally.steps);
  add_signed(hash, entry.tally.tokens_in);
  add_signed(hash, entry.tally.tokens_out);
  add_signed(hash, entry.tally.cost_micros);
}

template <class AnyEntry>
void add_entry(Sha256& hash, const AnyEntry& entry, const Digest& body, Timestamp at) {
  add_timeless(hash, entry, body);
  add_time(hash, at);
}

}  // namespace

Sealed seal(const Batch& batch, Timestamp at) {
  Sealed sealed;
  sealed.at = at;
  sealed.hashes.reserve(batch.entries.size());
  Sha256 hash;
  for (const NewEntry& entry : batch.entries) {
    hash.update(entry.body.bytes());
    sealed.hashes.push_back(hash.finish());
  }

  add_head(hash, batch.id, at, batch.entries.size());
  for (std::size_t i = 0; i < batch.entries.size(); ++i) {
    const NewEntry& entry = batch.entries[i];
    add_entry(hash, entry, sealed.hashes[i], entry.at.value_or(at));
  }
  sealed.seal = hash.finish();
  return sealed;
}

std::string seal_of_batch(const BatchId& batch) {
  Kept kept;
  add_batch(kept, batch);
  return kept.take();
}

std::string seal_of_entry(const NewEntry& entry, const Digest& body) {
  Kept kept;
  add_timeless(kept, entry, body);
  return kept.take();
}

StoredSeal::StoredSeal(const BatchId& batch, Timestamp at, std::uint64_t entries) {
  add_head(hash_, batch, at, entries);
}

void StoredSeal::add(const Entry& entry) { add_entry(hash_, entry, entry.hash, entry.at); }

Digest chain_start(const SessionId& session) {
  Sha256 hash;
  hash.update_sized("perdure session");
  hash.update_sized(session.text());
  return hash.finish();
}

Digest chain_next(const Digest& previous, const Digest& seal, Position from, Position first) {
  Sha256 hash;
  hash.update(view_of(previous));
  hash.update(view_of(seal));
  hash.update_number(from);
  hash.update_number(first);
  return hash.finish();
}

}  // namespace perdure::rules
