// To change what is hashed, or in which order, is to change the store's format.

#include "rules/chain.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/api/sha256.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/store.hpp"

namespace perdure::rules {

namespace {

std::string_view view_of(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

constexpr auto hex_pairs = [] {
  constexpr std::string_view digits = "0123456789abcdef";
  std::array<std::array<char, 2>, 256> pairs{};
  for (std::size_t i = 0; i < pairs.size(); ++i) pairs[i] = {digits[i >> 4], digits[i & 15]};
  return pairs;
}();

/// Takes what a Sha256 takes, and writes it down in hex.
class Hex {
 public:
  explicit Hex(std::size_t bytes) { text_.reserve(2 * bytes); }

  void update(std::string_view bytes) {
    const std::size_t before = text_.size();
    text_.resize(before + 2 * bytes.size());
    char* to = text_.data() + before;
    for (const char byte : bytes) {
      to = std::ranges::copy(hex_pairs[static_cast<std::uint8_t>(byte)], to).out;
    }
  }
  void update_number(std::uint64_t number) {
    std::array<char, 8> bytes{};
    for (std::size_t i = bytes.size(); i > 0; number >>= 8) bytes[--i] = static_cast<char>(number);
    update({bytes.data(), bytes.size()});
  }
  void update_sized(std::string_view bytes) {
    update_number(bytes.size());
    update(bytes);
  }
  void leave_time_open() { text_ += 't'; }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  std::string text_;
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

std::string unsealed(const Batch& batch, std::span<const Digest> bodies) {
  // An entry has nine fields of a number's size beside its hash, its channel and its kind.
  constexpr std::size_t entry_bytes = 160;
  Hex hex(entry_bytes * (batch.entries.size() + 1));
  add_batch(hex, batch.id);
  hex.leave_time_open();
  hex.update_number(batch.entries.size());
  for (std::size_t i = 0; i < batch.entries.size(); ++i) {
    const NewEntry& entry = batch.entries[i];
    add_timeless(hex, entry, bodies[i]);
    if (entry.at) {
      add_signed(hex, entry.at->time_since_epoch().count());
    } else {
      hex.leave_time_open();
    }
  }
  return hex.take();
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
