// Slices must follow each other without a gap, from the first fact to the last, and a blob must come
// before whoever names it. So nothing has to be remembered but the names of blobs.

#include "bundle/bundle_facts.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "bundle/bundle_file.hpp"
#include "bundle/fact_check.hpp"
#include "copy/fact_codec.hpp"
#include "copy/fact_stream.hpp"
#include "copy/packing.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/store/bundle.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/upkeep.hpp"
#include "rules/followed.hpp"
#include "store/api/transfer.hpp"

namespace perdure {
namespace bundle {

void note(BundleReport& report, const Fact& fact) {
  if (const auto* session = std::get_if<SessionFact>(&fact)) {
    if (session->row) report.sessions.push_back(session->row->summary.id);
  }
  report.entries += std::holds_alternative<Entry>(fact) ? 1 : 0;
  report.commits += std::holds_alternative<ReceiptFact>(fact) ? 1 : 0;
  report.calls += std::holds_alternative<CallFact>(fact) ? 1 : 0;
  report.messages += std::holds_alternative<MessageFact>(fact) ? 1 : 0;
  report.claims += std::holds_alternative<ClaimFact>(fact) ? 1 : 0;
}

std::string totals(const BundleReport& report, std::uint64_t facts) {
  Packer pack;
  pack(std::uint64_t{report.sessions.size()}, facts, report.blobs);
  return std::move(pack).take();
}

Result<BundleFacts> BundleFacts::open(const std::string& path, TakeBlob take_blob) {
  auto records = RecordReader::open(path);
  if (!records) return forward(records);
  return BundleFacts(*std::move(records), std::move(take_blob));
}

Result<std::optional<FactSlice>> BundleFacts::next() {
  while (true) {
    auto record = records_.next();
    if (!record) return forward(record);
    if (!*record) return std::nullopt;
    Result<void> done;
    switch ((*record)->kind) {
      case RecordKind::blob:
        done = take_blob((*record)->payload);
        break;
      case RecordKind::end:
        done = finish((*record)->payload);
        break;
      case RecordKind::slice: {
        auto slice = read_slice((*record)->payload);
        if (!slice) return forward(slice);
        return *std::move(slice);
      }
    }
    if (!done) return forward(done);
  }
}

Result<void> BundleFacts::take_blob(const std::string& bytes) {
  blobs_.emplace(sha256(bytes), bytes.size());
  ++report_.blobs;
  return take_blob_ ? take_blob_(bytes) : Result<void>();
}

Result<FactSlice> BundleFacts::read_slice(const std::string& payload) {
  auto slice = unpack(payload);
  if (!slice) return damaged_bundle(records_.path(), position(), "facts cannot be read");
  if (slice->from != next_ || next_.is_end()) {
    return damaged_bundle(records_.path(), position(), "facts are missing");
  }
  for (const Fact& fact : slice->facts) {
    auto sound = check(fact);
    if (!sound) return damaged_bundle(records_.path(), position(), sound.error().message);
    if (auto named = check_named(fact); !named) return forward(named);
    note(report_, fact);
  }
  facts_ += slice->facts.size();
  next_ = slice->next;
  return *std::move(slice);
}

Result<void> BundleFacts::check_named(const Fact& fact) const {
  const auto ref = copy::blob_of(fact);
  if (!ref || blobs_.contains({ref->digest, ref->size})) return {};
  return damaged_bundle(records_.path(), position(), "a blob is missing");
}

Result<void> BundleFacts::finish(const std::string& payload) {
  if (!next_.is_end() || payload != totals(report_, facts_)) {
    return damaged_bundle(records_.path(), position(), "facts are missing");
  }
  report_.bytes = records_.size();
  report_.digest = records_.digest();
  return {};
}

}  // namespace bundle

Result<BundleReport> check_bundle(const std::string& path, const Progress& progress) {
  auto facts = bundle::BundleFacts::open(path);
  if (!facts) return forward(facts);
  while (true) {
    auto told = rules::goes_on(progress, {.done = facts->position(), .total = facts->size()});
    if (!told) return forward(told);
    if (!*told) {
      BundleReport stopped;
      stopped.is_complete = false;
      return stopped;
    }
    auto slice = facts->next();
    if (!slice) return forward(slice);
    if (!*slice) return facts->report();
  }
}

}  // namespace perdure
