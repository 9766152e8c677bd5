// The original is only ever read, byte by byte: SQLite itself would write to the files
// beside it as soon as it opened them.

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fmt/format.h>
#include <new>
#include <string>
#include <system_error>

#include "files/part_file.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/store/upkeep.hpp"
#include "rules/followed.hpp"
#include "rules/format.hpp"
#include "sqlite/engine/connection.hpp"
#include "sqlite/engine/schema.hpp"
#include "sqlite/opening/backup.hpp"
#include "sqlite/pages/page_source.hpp"
#include "sqlite/salvage/row_finder.hpp"
#include "sqlite/salvage/salvaged_file.hpp"
#include "store/api/location.hpp"

namespace perdure {

namespace {

using sqlite::Bytes;
using sqlite::FoundRow;
using sqlite::PageSource;
using sqlite::PartFile;
using sqlite::SalvagedFile;

Result<void> check_paths(const std::string& from, const std::string& to) {
  std::error_code unknown;
  // A store that was never written back is all in its WAL.
  const std::string first = std::filesystem::exists(from, unknown) ? from : from + "-wal";
  if (!std::filesystem::is_regular_file(first, unknown)) {
    return fail(ErrorCode::not_found, fmt::format("there is no file {}", shown_location(from)));
  }
  return sqlite::check_new_place(to);
}

// Another format is believed of a page that is as it was written; of any other it is damage.
Result<void> check_format_of(const PageSource& source) {
  const auto first = source.read(1);
  if (!first || !source.is_proven(1, *first)) return {};
  const std::uint32_t format = sqlite::big_endian_32(*first, sqlite::format_at);
  const bool is_ours = format >= rules::first_format && format <= sqlite::format_number;
  if (format == 0 || is_ours) return {};
  return sqlite::check_numbers(sqlite::big_endian_32(*first, sqlite::application_at), format);
}

// Rows wander between pages. One that lay on a page whose newest copy is a damaged frame is still
// where it was before, at the last moment of which everything is whole.
void add_earlier_rows(const std::string& from, SalvagedFile& file) {
  const PageSource source(Bytes::of_file(from), Bytes::of_file(from + "-wal"),
                          sqlite::LogPart::up_to_damage);
  sqlite::find_rows(source, {.row = [&](FoundRow&& row) { file.add_earlier(row); }, .go_on = {}});
}

Result<SalvageReport> salvage(const std::string& from, const std::string& to,
                              const Progress& progress) {
  const PageSource source(Bytes::of_file(from), Bytes::of_file(from + "-wal"));
  if (auto known = check_format_of(source); !known) return forward(known);
  auto part = PartFile::open_for(to);
  if (!part) return forward(part);
  SalvageReport report;
  std::uint64_t rows = 0;
  bool stopped = false;
  Step step{.done = 0, .total = source.page_count()};
  {
    SalvagedFile file(part->path(), random_ids());
    const auto pages = sqlite::find_rows(source, {.row =
                                                      [&](FoundRow&& row) {
                                                        if (row.shape->is_of_a_table()) ++rows;
                                                        file.add(row);
                                                      },
                                                  .go_on =
                                                      [&](std::uint64_t) {
                                                        step.done =
                                                            std::min(step.done + 1, step.total);
                                                        stopped = progress && !progress(step);
                                                        return !stopped;
                                                      }});
    if (stopped) return fail(ErrorCode::unavailable, "the salvage was told to stop");
    if (rows == 0) {
      return fail(ErrorCode::corrupted,
                  fmt::format("nothing in {} looks like a Perdure store", from));
    }
    report.pages_unreadable = pages.unreadable;
    if (source.has_gap()) add_earlier_rows(from, file);
    file.mend(report);
    file.finish(random_ids(), report);
  }
  if (auto named = part->give_name(to); !named) return forward(named);
  return report;
}

}  // namespace

Result<SalvageReport> salvage_store(const std::string& from, const std::string& to,
                                    const Progress& progress) {
  if (auto checked = check_paths(from, to); !checked) return forward(checked);
  try {
    // As when a store is opened: a link to one leads to what lies beside it, too.
    const std::string original = std::filesystem::weakly_canonical(from).string();
    return rules::followed(progress,
                           [&](const Progress& told) { return salvage(original, to, told); });
  } catch (const sqlite::SqliteError& error) {
    return fail(ErrorCode::unavailable, fmt::format("cannot write {}: {}", to, error.what()));
  } catch (const std::system_error& error) {
    return fail(ErrorCode::unavailable, error.what());
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::unavailable, "out of memory");
  }
}

}  // namespace perdure
