// Nothing is locked: what the sessions are is read at the beginning and again at the end. If it is
// the same, down to the revision of every row and to what was pruned, nobody wrote in between, and
// all that was read is of one moment. If not, it is read anew, a few times.
//
// Locking them as a move does would be simpler. But then a killed export would leave sessions that
// cannot run, and nobody expects that of something that only reads.

#include <cstdint>
#include <filesystem>
#include <fmt/format.h>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include "bundle/bundle_facts.hpp"
#include "bundle/bundle_file.hpp"
#include "bundle/fact_codec.hpp"
#include "copy/chain_check.hpp"
#include "copy/fact_stream.hpp"
#include "copy/family.hpp"
#include "files/part_file.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/store/bundle.hpp"
#include "perdure/store/facts.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/store.hpp"
#include "perdure/store/transfer.hpp"
#include "perdure/store/upkeep.hpp"
#include "rules/followed.hpp"

namespace perdure {

namespace {

constexpr int attempts_max = 5;

/// Sessions, segments and what was pruned: where every write leaves a trace.
bool tells_of_writes(FactKind kind) { return kind < FactKind::entry; }

class Export {
 public:
  Export(Store& store, Passage passage, const sqlite::PartFile& file)
      : store_(store),
        passage_(std::move(passage)),
        writer_(file),
        chains_(
            copy::FactStream(store.transfer(), passage_,
                             {.kind = FactKind::receipt, .group = 0, .number = 0, .name = {}})) {}

  // False if it was told to stop.
  Result<bool> write(const Progress& progress) {
    if (auto begun = writer_.begin(); !begun) return forward(begun);
    FactCursor next;
    while (!next.is_end()) {
      auto told = rules::goes_on(progress, {.done = facts_, .total = total_});
      if (!told || !*told) return told;
      auto slice = store_.transfer().read(passage_, next);
      if (!slice) return forward(slice);
      if (auto written = write_slice(*slice); !written) return forward(written);
      next = std::move(slice->next);
    }
    if (auto checked = chains_.finish(); !checked) return forward(checked);
    auto ended = writer_.write(bundle::RecordKind::end, bundle::totals(report_, facts_));
    if (!ended) return forward(ended);
    return true;
  }

  /// Whether the sessions are still what was written down at the beginning, as far as that came.
  Result<bool> is_of_one_moment() {
    Sha256 hash;
    FactCursor next;
    while (tells_of_writes(next.kind) && next != traced_to_) {
      auto slice = store_.transfer().read(passage_, next);
      if (!slice) return forward(slice);
      hash.update_sized(bundle::pack(*slice));
      next = std::move(slice->next);
    }
    return hash.finish() == traces_.finish();
  }

  [[nodiscard]] const std::set<SessionId>& damaged() const { return chains_.damaged(); }

  [[nodiscard]] BundleReport report() const {
    BundleReport report = report_;
    report.bytes = writer_.bytes();
    report.digest = writer_.digest();
    return report;
  }

 private:
  Result<void> write_slice(const FactSlice& slice) {
    for (const Fact& fact : slice.facts) {
      bundle::note(report_, fact);
      if (auto checked = check(fact); !checked) return checked;
      const auto ref = copy::blob_of(fact);
      if (!ref || !blobs_.insert(ref->digest).second) continue;
      if (auto written = write_blob(*ref); !written) return written;
    }
    facts_ += slice.facts.size();
    const std::string packed = bundle::pack(slice);
    if (tells_of_writes(slice.from.kind)) {
      traces_.update_sized(packed);
      traced_to_ = slice.next;
    }
    return writer_.write(bundle::RecordKind::slice, packed);
  }

  Result<void> check(const Fact& fact) {
    if (const auto* session = std::get_if<SessionFact>(&fact)) {
      chains_.add(*session);
      total_ += session->row ? session->row->summary.next + session->row->commits : 1;
    }
    if (const auto* segment = std::get_if<SegmentFact>(&fact)) chains_.add(*segment);
    if (const auto* entry = std::get_if<Entry>(&fact)) return chains_.add(*entry);
    return {};
  }

  Result<void> write_blob(const BlobRef& ref) {
    auto bytes = store_.blobs().get(ref);
    if (!bytes) return forward(bytes);
    ++report_.blobs;
    return writer_.write(bundle::RecordKind::blob, *bytes);
  }

  Store& store_;
  const Passage passage_;
  bundle::RecordWriter writer_;
  copy::ChainCheck chains_;
  Sha256 traces_;
  FactCursor traced_to_;
  std::set<Digest> blobs_;
  std::uint64_t facts_ = 0;
  std::uint64_t total_ = 0;
  BundleReport report_;
};

Result<Passage> show(Store& store, const ExportOptions& options) {
  return store.transfer().show(
      options.with_relatives ? copy::with_relatives(store, options.sessions) : options.sessions);
}

// Empty if somebody wrote to the sessions meanwhile.
Result<std::optional<BundleReport>> try_export(Store& store, const std::string& path,
                                               const ExportOptions& options,
                                               const Progress& progress) {
  auto passage = show(store, options);
  if (!passage) return forward(passage);
  auto file = sqlite::PartFile::open_for(path);
  if (!file) return forward(file);
  Export work(store, *std::move(passage), *file);
  auto written = work.write(progress);
  if (written && !*written) {
    BundleReport stopped;
    stopped.is_complete = false;
    return stopped;
  }
  // Also after an error: what changed under the reader may be all that was wrong.
  auto one_moment = work.is_of_one_moment();
  if (!one_moment) return forward(one_moment);
  if (!*one_moment) return std::nullopt;
  if (!written) return forward(written);
  if (!options.with_damage && !work.damaged().empty()) {
    const SessionId& session = *work.damaged().begin();
    return fail(ErrorCode::corrupted,
                fmt::format("session {} is damaged: check the store", session.text()),
                session.text());
  }
  if (auto named = file->give_name(path); !named) return forward(named);
  return work.report();
}

}  // namespace

Result<BundleReport> export_sessions(Store& store, const std::string& path,
                                     const ExportOptions& options, const Progress& progress) {
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored)) {
    return fail(ErrorCode::already_exists, fmt::format("there is a file {} already", path), path);
  }
  for (int attempt = 0; attempt < attempts_max; ++attempt) {
    auto report = try_export(store, path, options, progress);
    if (!report) return forward(report);
    if (*report) return **std::move(report);
  }
  return fail(ErrorCode::conflict,
              "the sessions changed while they were exported, again and again: pause them first");
}

}  // namespace perdure
