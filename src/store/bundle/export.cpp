// Nothing is locked: what the sessions are is read at the beginning and again at the end. If it is
// the same, down to the revision of every row and to what was pruned, there were no writes between,
// and all that was read is of one moment. If not, it is read again, a few times.
//
// Locking them would be simpler. But then a killed export would leave sessions that cannot run.

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

#include "bundle/bundle_file.hpp"
#include "copy/fact_codec.hpp"
#include "copy/fact_stream.hpp"
#include "files/part_file.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/store.hpp"
#include "perdure/store/upkeep.hpp"
#include "rules/followed.hpp"
#include "rules/moves.hpp"
#include "store/api/bundle.hpp"
#include "store/api/lookup.hpp"
#include "store/api/transfer.hpp"

namespace perdure {

namespace {

constexpr int attempts_max = 5;

class Export {
 public:
  Export(Store& store, copy::SourceFacts& source, const sqlite::PartFile& file)
      : store_(store),
        source_(source),
        writer_(file),
        chains_(
            copy::FactStream(store.transfer(), source.source(),
                             {.kind = FactKind::receipt, .group = 0, .number = 0, .name = {}})) {}

  // False if it was asked to stop.
  Result<bool> write(const Progress& progress) {
    if (auto begun = writer_.begin(); !begun) return forward(begun);
    FactCursor next;
    while (!next.is_end()) {
      auto told = rules::goes_on(progress, {.done = facts_, .total = total_});
      if (!told || !*told) return told;
      auto slice = source_.read(next);
      if (!slice) return forward(slice);
      if (auto written = write_slice(*slice); !written) return forward(written);
      next = std::move(slice->next);
    }
    if (auto checked = chains_.finish(); !checked) return forward(checked);
    auto ended = writer_.write(bundle::RecordKind::end, bundle::totals(report_, facts_));
    if (!ended) return forward(ended);
    return true;
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
      const auto ref = rules::blob_of(fact);
      if (!ref || !blobs_.insert(ref->digest).second) continue;
      if (auto written = write_blob(*ref); !written) return written;
    }
    facts_ += slice.facts.size();
    return writer_.write(bundle::RecordKind::slice, bundle::pack(slice));
  }

  Result<void> check(const Fact& fact) {
    if (const auto* session = std::get_if<SessionFact>(&fact)) {
      total_ += session->row ? session->row->summary.next + session->row->commits : 1;
    }
    return chains_.add(fact);
  }

  Result<void> write_blob(const BlobRef& ref) {
    auto bytes = store_.blobs().get(ref);
    if (!bytes) return forward(bytes);
    ++report_.blobs;
    return writer_.write(bundle::RecordKind::blob, *bytes);
  }

  Store& store_;
  copy::SourceFacts& source_;
  bundle::RecordWriter writer_;
  copy::ChainCheck chains_;
  std::set<Digest> blobs_;
  std::uint64_t facts_ = 0;
  std::uint64_t total_ = 0;
  BundleReport report_;
};

Result<copy::SourceFacts> find_source(Store& store, const ExportOptions& options) {
  auto owners = find_owners(store.transfer(), options.with_relatives
                                                  ? copy::with_relatives(store, options.sessions)
                                                  : options.sessions);
  if (!owners) return forward(owners);
  return copy::SourceFacts(store.transfer(), {.owners = *std::move(owners), .arrival = {}});
}

// Empty if the sessions changed meanwhile.
Result<std::optional<BundleReport>> try_export(Store& store, const std::string& path,
                                               const ExportOptions& options,
                                               const Progress& progress) {
  auto source = find_source(store, options);
  if (!source) return forward(source);
  auto before = source->trace();
  if (!before) return forward(before);
  auto file = sqlite::PartFile::open_for(path);
  if (!file) return forward(file);
  Export work(store, *source, *file);
  auto written = work.write(progress);
  if (written && !*written) {
    BundleReport stopped;
    stopped.is_complete = false;
    return stopped;
  }
  // Also after an error: what changed under the reader may be all that was wrong.
  auto changed = source->has_changed(*before, !written);
  if (!changed) return forward(changed);
  if (*changed) return std::nullopt;
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
