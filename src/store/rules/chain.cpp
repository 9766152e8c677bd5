// To change what is hashed, or in which order, is to change the store's format.

#include "rules/chain.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

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

void add_signed(Sha256& hash, std::int64_t number) {
  hash.update_number(static_cast<std::uint64_t>(number));
}

void add_time(Sha256& hash, Timestamp time) { add_signed(hash, time.time_since_epoch().count()); }

void add_entry(Sha256& hash, const NewEntry& entry, const Digest& body, Timestamp commit_time) {
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
  add_time(hash, entry.at.value_or(commit_time));
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

  hash.update_sized("perdure commit");
  hash.update_sized(batch.id.text());
  add_time(hash, at);
  hash.update_number(batch.entries.size());
  for (std::size_t i = 0; i < batch.entries.size(); ++i) {
    add_entry(hash, batch.entries[i], sealed.hashes[i], at);
  }
  sealed.seal = hash.finish();
  return sealed;
}

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
