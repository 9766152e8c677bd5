// What follows from the methods of the seam, for every backend.
//
// Every reader of entries decides by one rule what a missing blob means.

#include "store/api/seam.hpp"

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "perdure/store/upkeep.hpp"
#include "rules/retention.hpp"
#include "store/api/lookup.hpp"

namespace perdure {

Store::Store(const StoreRoles& roles) : roles_(std::make_unique<const StoreRoles>(roles)) {}
Store::~Store() = default;

Sessions& Store::sessions() { return roles_->sessions; }
Ownership& Store::ownership() { return roles_->ownership; }
Log& Store::log() { return roles_->log; }
Ledger& Store::ledger() { return roles_->ledger; }
Inbox& Store::inbox() { return roles_->inbox; }
Blobs& Store::blobs() { return roles_->blobs; }
Upkeep& Store::upkeep() { return roles_->upkeep; }
Lookup& Store::lookup() { return roles_->lookup; }
Transfer& Store::transfer() { return roles_->transfer; }

Result<std::uint64_t> Store::change_number() {
  return wait_for_change(std::numeric_limits<std::uint64_t>::max(), Duration(0));
}

Result<std::string> Blobs::get(const BlobRef& ref) {
  auto bytes = read(ref, 0, ref.size);
  if (!bytes || sha256(*bytes) == ref.digest) return bytes;
  return fail(ErrorCode::corrupted,
              fmt::format("the bytes of blob {} do not match their name", to_hex(ref.digest)));
}

Result<bool> has_blob(Blobs& blobs, const BlobRef& ref) {
  auto nothing = blobs.read(ref, 0, 0);
  if (nothing) return true;
  if (nothing.error().code == ErrorCode::not_found) return false;
  return forward(nothing);
}

Result<Checkpoint> Log::read_checkpoint(const SessionId& session, Version version) {
  auto found = checkpoints(session, {.before = version + 1, .limit = 1});
  if (!found) return forward(found);
  if (!found->empty() && found->front().version == version) return std::move(found->front());
  return fail(ErrorCode::not_found,
              fmt::format("session {} has no version {}", session.text(), version));
}

Result<std::vector<Call>> Lookup::by_key(const Digest& key) {
  auto calls = with_key(key);
  if (calls) std::erase_if(*calls, [&](const Call& call) { return call.key != key; });
  return calls;
}

Result<std::vector<Call>> Lookup::find_claims(const Digest& key) {
  auto calls = with_key(key);
  if (calls) std::erase_if(*calls, [&](const Call& call) { return call.claimed != key; });
  return calls;
}

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

// By the same rule as pruning itself.

namespace {

Version newest_from(const std::vector<Checkpoint>& versions, std::uint64_t last) {
  if (last == 0) return std::numeric_limits<Version>::max();
  return last > versions.size() ? 0 : versions[last - 1].version;
}

}  // namespace

std::uint64_t count_prunable(const std::vector<Checkpoint>& versions, const Keep& keep) {
  const Version newest = newest_from(versions, keep.last);
  return static_cast<std::uint64_t>(std::ranges::count_if(
      versions, [&](const Checkpoint& version) { return !rules::keeps(keep, newest, version); }));
}

}  // namespace perdure
