// The record of the WAL, the gate, then group commit.

#include "sqlite/engine/writer.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <expected>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <linux/stat.h>
#include <mutex>
#include <new>
#include <optional>
#include <sqlite3.h>
#include <string>
#include <sys/stat.h>
#include <system_error>
#include <tuple>
#include <utility>

#include "perdure/core/error.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "sqlite/engine/connection.hpp"
#include "sqlite/engine/lock_file.hpp"
#include "sqlite/engine/schema.hpp"
#include "sqlite/engine/summing_vfs.hpp"

namespace perdure::sqlite {

// Layouts are those of SQLite's "WAL-mode File Format", which does not change. The index is memory
// that all processes on the file share: reading it costs no call to the kernel. It begins with two
// copies of a header of 12 words, then says what checkpoints did.

namespace {

constexpr std::size_t header_words = 12;

/// Calls `use(words, barrier)`. Returns SQLite's code.
template <class Use>
int with_index(const Connection& connection, Use use) {
  constexpr int region_bytes = 32768;
  sqlite3_file* file = connection.file(SQLITE_FCNTL_FILE_POINTER);
  if (file->pMethods->iVersion < 2) return SQLITE_IOERR_SHMMAP;
  const sqlite3_file* wal = connection.file(SQLITE_FCNTL_JOURNAL_POINTER);
  void volatile* memory = nullptr;
  const int code = file->pMethods->xShmMap(file, 0, region_bytes, 0, &memory);
  if (code == SQLITE_OK && memory != nullptr) {
    use(static_cast<std::uint32_t volatile*>(memory), [&] { file->pMethods->xShmBarrier(file); });
  }
  // Before SQLite itself has opened the WAL it does not know that the file has the memory, and
  // would not give it back when it closes the file.
  if (wal == nullptr || wal->pMethods == nullptr) file->pMethods->xShmUnmap(file, 0);
  return code;
}

}  // namespace

std::optional<WalIndex> read_wal_index(Connection& connection) noexcept {
  std::optional<WalIndex> index;
  with_index(connection, [&](const std::uint32_t volatile* words, auto barrier) {
    barrier();
    const std::uint32_t flags_and_size = words[3];
    std::array<std::uint16_t, 2> halves{};
    std::memcpy(halves.data(), &flags_and_size, sizeof flags_and_size);
    index = {.salts = {words[8], words[9]},
             .frames = words[4],
             .written_back = words[2 * header_words],
             .page_size = halves[1],
             .pages = words[5]};
    barrier();
    for (std::size_t i = 0; i < header_words; ++i) {
      if (words[i] != words[header_words + i]) index.reset();
    }
  });
  return index;
}

void forget_wal_index(Connection& connection) {
  const int code = with_index(connection, [](std::uint32_t volatile* words, auto barrier) {
    for (std::size_t i = 0; i < 2 * header_words; ++i) words[i] = 0;
    barrier();
  });
  if (code != SQLITE_OK) throw SqliteError(code, "cannot map the index of the WAL");
}

// A page is only marked if its frame says something else than the main file does: what a
// write-back leaves as it was proves nothing. The last bytes of a page are left out of every
// comparison: where pages carry sums, the main file has one and the WAL does not.

namespace {

constexpr std::size_t wal_header_bytes = 32;
constexpr std::size_t wal_frame_header_bytes = 24;
constexpr std::size_t compared_bytes = summed_page_bytes - sum_bytes;
constexpr std::size_t pages_tried_max = 8;

using PageImage = std::array<char, summed_page_bytes>;

int read_page(Connection& connection, std::uint64_t page, PageImage& image) {
  return connection.read_file(SQLITE_FCNTL_FILE_POINTER, image.data(), image.size(),
                              static_cast<std::int64_t>((page - 1) * summed_page_bytes));
}

std::int64_t frame_at(std::uint32_t number) {
  return static_cast<std::int64_t>(wal_header_bytes +
                                   (number - 1) *
                                       (wal_frame_header_bytes + std::uint64_t{summed_page_bytes}));
}

/// Which page of the store frame `number` holds; 0 if that cannot be read.
std::uint32_t page_in_frame(Connection& connection, std::uint32_t number) {
  std::array<char, 4> bytes{};
  const int code = connection.read_file(SQLITE_FCNTL_JOURNAL_POINTER, bytes.data(), bytes.size(),
                                        frame_at(number));
  return code == SQLITE_OK ? big_endian_32({bytes.data(), bytes.size()}, 0) : 0;
}

// That a page is not there proves less after a power cut: the record may be from a time before
// the file grew, and the file since have shrunk.
bool is_as_before(Connection& connection, const PageMark& mark, bool same_boot) {
  PageImage image{};
  if (mark.page == 0) return false;
  const int code = read_page(connection, mark.page, image);
  if (mark.sum == absent_page) return same_boot && code == SQLITE_IOERR_SHORT_READ;
  return code == SQLITE_OK && sum_of(image.data(), compared_bytes) == mark.sum;
}

// Nothing if the write-back of this frame would change nothing, or it cannot be read.
PageMark mark_frame(Connection& connection, std::uint32_t page, std::uint32_t frame) {
  PageImage image{};
  PageImage before{};
  const int code = read_page(connection, page, before);
  if (code == SQLITE_IOERR_SHORT_READ) return {.page = page, .sum = absent_page};
  const auto at = frame_at(frame) + static_cast<std::int64_t>(wal_frame_header_bytes);
  if (code != SQLITE_OK ||
      connection.read_file(SQLITE_FCNTL_JOURNAL_POINTER, image.data(), image.size(), at) !=
          SQLITE_OK ||
      std::memcmp(image.data(), before.data(), compared_bytes) == 0) {
    return {};
  }
  return {.page = page, .sum = sum_of(before.data(), compared_bytes)};
}

// Of each page only its last frame counts: it is the one that is written back.
PageMark mark_last(Connection& connection, const WalIndex& index) {
  if (index.page_size != summed_page_bytes) return {};
  std::array<std::uint32_t, pages_tried_max> tried{};
  std::size_t count = 0;
  for (std::uint32_t frame = index.frames; frame > index.written_back; --frame) {
    const std::uint32_t page = page_in_frame(connection, frame);
    if (page == 0 || page > index.pages || std::ranges::find(tried, page) != tried.end()) continue;
    const PageMark mark = mark_frame(connection, page, frame);
    if (mark.page != 0 && mark.sum == absent_page) continue;
    if (mark.page != 0) return mark;
    tried[count] = page;
    if (++count == tried.size()) break;
  }
  return {};
}

PageMark mark_highest(Connection& connection, const WalIndex& index) {
  if (index.page_size != summed_page_bytes) return {};
  std::uint32_t highest = 0;
  std::uint32_t its_frame = 0;
  for (std::uint32_t frame = index.written_back + 1; frame <= index.frames; ++frame) {
    const std::uint32_t page = page_in_frame(connection, frame);
    if (page < highest || page > index.pages) continue;
    highest = page;
    its_frame = frame;
  }
  return highest == 0 ? PageMark{} : mark_frame(connection, highest, its_frame);
}

}  // namespace

bool Acknowledged::are_missing(Needs needs) {
  const WalRecord record = lock_file_.read_record();
  const bool same_boot = record.boot == boot_ && boot_ != 0;
  const std::uint32_t needed = same_boot && needs == Needs::all ? record.frames : record.synced;
  if (needed == 0) return false;
  const auto index = read_wal_index(connection_);
  if (!index || (index->salts == record.salts && index->frames >= needed)) return false;
  return std::ranges::any_of(record.before, [&](const PageMark& mark) {
    return is_as_before(connection_, mark, same_boot);
  });
}

void Acknowledged::note(std::uint32_t frames, bool synced) {
  const auto index = read_wal_index(connection_);
  // Another program wrote meanwhile: how much of it is synced is unknown.
  if (!index || index->frames != frames) return;
  const WalRecord last = lock_file_.last_record();
  const bool goes_on = last.frames > 0 && last.salts == index->salts && last.boot == boot_;
  WalRecord record{.salts = index->salts, .frames = frames, .boot = boot_};
  record.synced = synced ? frames : goes_on ? std::min(last.synced, frames) : 0;
  if (goes_on) record.before = last.before;
  if (record.before[0].page == 0) record.before[0] = mark_last(connection_, *index);
  keep(record);
}

void Acknowledged::begin_write_back() {
  WalRecord record = lock_file_.read_record();
  const auto index = read_wal_index(connection_);
  if (record.frames == 0 || !index || index->salts != record.salts) return;
  record.before = {mark_last(connection_, *index), mark_highest(connection_, *index)};
  keep(record);
}

void Acknowledged::end_write_back(bool complete) {
  if (complete) return keep({.boot = boot_});
  begin_write_back();
}

void Acknowledged::begin(const std::optional<WalIndex>& before) {
  const WalRecord last = lock_file_.read_record();
  const auto index = read_wal_index(connection_);
  WalRecord record{.boot = boot_};
  if (index && index->frames > index->written_back) {
    const bool same_wal = last.salts == index->salts && last.frames > 0;
    const bool wrote = before && (before->salts != index->salts || before->frames != index->frames);
    record.salts = index->salts;
    record.frames = index->frames;
    record.synced = same_wal ? std::min(last.synced, index->frames) : 0;
    if (wrote) record.synced = index->frames;
    // Not the old marks: they may be of a page that was written back since.
    record.before[0] = mark_last(connection_, *index);
  }
  keep(record);
}

void Acknowledged::keep(WalRecord record) {
  record.seal();
  lock_file_.keep(record);
}

// A file is known by device and inode, not by name. Nothing else is asked for: a file whose times
// were asked for gets new ones at its next write, and the kernel then writes its inode to disk with
// the next sync of a neighbour, the WAL: a second write to disk for every commit.

Gate::Gate(std::string path, LockFile& lock_file)
    : path_(std::move(path)), log_path_(path_ + "-wal"), lock_file_(lock_file) {}

void Gate::open() {
  is_open_ = true;
  file_ = identity_of(path_);
  log_ = identity_of(log_path_);
  lock_ = identity_of(lock_file_.path());
  failures_ = lock_file_.failures().seen;
}

Result<void> Gate::check() {
  if (!closed_ && is_open_ && lock_file_.failures().seen != failures_) {
    close("a sync of the store failed, in another process; it takes no more writes. Reopen it.");
  }
  if (!closed_ && is_open_ &&
      (identity_of(path_) != file_ || identity_of(lock_file_.path()) != lock_)) {
    close(
        fmt::format("{} or its lock file was moved, replaced or deleted while it was open. "
                    "Put it back, then reopen it.",
                    path_));
  }
  // SQLite itself deletes it only when the last connection closes, and ours is open; a checkpoint
  // that empties it keeps the file.
  if (!closed_ && is_open_ && identity_of(log_path_) != log_) {
    close(fmt::format(
        "{} was moved, replaced or deleted while the store was open, which takes no "
        "more writes. Reopen it; if the log was replaced, put the right one back first.",
        log_path_));
    was_log_ = true;
  }
  if (closed_) return std::unexpected(*closed_);
  return {};
}

// An empty one was made by a later opener of the store; only the holder of the turn writes.
bool Gate::has_log_in_hand() const {
  std::error_code none;
  const bool is_elsewhere = std::filesystem::file_size(log_path_, none) > 0 && !none;
  return was_log_ && !is_elsewhere && identity_of(path_) == file_ &&
         identity_of(lock_file_.path()) == lock_;
}

void Gate::close_for_all() {
  auto failures = lock_file_.failures();
  ++failures.seen;
  lock_file_.set_failures(failures);
  close("a sync of the store failed; it takes no more writes. Reopen it.");
}

void Gate::close(std::string why) { closed_ = Error{ErrorCode::closed, std::move(why), {}}; }

void Gate::close_as_damaged(std::string why) {
  closed_ = Error{ErrorCode::corrupted, std::move(why), {}};
}

Gate::Identity Gate::identity_of(const std::string& path) {
  struct statx found{};
  if (::statx(AT_FDCWD, path.c_str(), 0, STATX_INO, &found) != 0) return std::nullopt;
  return std::tuple(found.stx_dev_major, found.stx_dev_minor, found.stx_ino);
}

// Group commit, led by the callers themselves: a thread of its own would cost the
// lone caller two switches, which is a fifth of a commit here.
//
// What a death does: before COMMIT nothing happened; after it, all that was
// accepted did, whether or not a caller was answered. A failed COMMIT may be either
// (its frames may be in the WAL, whole), so it is reported as unknown; a failed
// sync also closes the store, because the kernel may have dropped the pages that
// it could not write and will not say so again.

namespace {

// Large enough to share the cost of writing the file, small enough that the WAL is
// soon overwritten in place, which syncs faster than a file that grows.
constexpr int checkpoint_pages = 500;
// Readers that always overlap keep the WAL from being restarted; from here on the
// writer waits for them, a little each time.
constexpr int wal_pages_max = 16 * checkpoint_pages;
constexpr int readers_wait_ms = 50;

}  // namespace

int Writer::remember_pages(void* writer, sqlite3* /*handle*/, const char* /*name*/, int count) {
  static_cast<Writer*>(writer)->wal_pages_ = count;
  static_cast<Writer*>(writer)->wrote_frames_ = true;
  return SQLITE_OK;
}

// The hook also takes the place of SQLite's own automatic checkpoint, which would
// make callers wait for it before they are answered.
Writer::Writer(Connection& connection, LockFile& lock_file, Options options)
    : connection_(connection),
      lock_file_(lock_file),
      options_(std::move(options)),
      gate_(options_.path, lock_file),
      acknowledged_(connection, lock_file),
      checkpoint_at_(checkpoint_pages) {
  sqlite3_wal_hook(connection_.handle(), remember_pages, this);
}

void Writer::submit(Request& request) {
  if (auto here = process_.check(); !here) {
    request.failed = std::move(here).error();
    return;
  }
  std::unique_lock lock(mutex_);
  try {
    queue_.push_back(&request);
  } catch (const std::bad_alloc&) {
    request.failed = Error{ErrorCode::unavailable, "out of memory", {}};
    return;
  }
  request.ready.wait(lock,
                     [&] { return request.answered || (!leading_ && queue_.front() == &request); });
  if (request.answered) return;

  leading_ = true;
  Group group;
  group.swap(queue_);
  lock.unlock();
  process(group);
  lock.lock();
  leading_ = false;
  if (!queue_.empty()) queue_.front()->ready.notify_one();
}

void Writer::process(const Group& group) {
  if (auto turn = lock_file_.take_turn(options_.wait); !turn) {
    reject_all(group, turn.error());
    answer(group);
    return reject_waiting(turn.error());
  }
  try {
    if (auto open = gate_.check(); open) {
      commit(group);
      empty_wal_for(group);
    } else {
      reject_all(group, open.error());
      // What was acknowledged is in a log that goes with the last process that has it open.
      if (gate_.has_log_in_hand()) write_back(SQLITE_CHECKPOINT_PASSIVE);
    }
  } catch (const SqliteError& error) {
    reject_all(group, error.to_error());
    roll_back();
  } catch (const std::exception& error) {
    // No memory, or whatever a caller's clock threw: the others must not wait for ever.
    reject_all(group, {ErrorCode::unavailable, error.what(), {}});
    roll_back();
  }
  answer(group);
  checkpoint_if_large();
  lock_file_.end_turn();
}

void Writer::commit(const Group& group) {
  const bool now = std::ranges::any_of(group, [](auto* r) { return r->sync == Sync::now; });
  set_synchronous(now && options_.durability == Durability::full);
  connection_.run("BEGIN IMMEDIATE");
  if (auto ours = check_is_our_format(); !ours) {
    reject_all(group, ours.error());
    return roll_back();
  }
  if (!apply_all(group)) return roll_back();
  wrote_frames_ = false;
  try {
    connection_.run("COMMIT");
  } catch (const SqliteError& error) {
    close_after(error);
    const Error unknown{ErrorCode::commit_unknown,
                        std::string("the commit may or may not have happened (") + error.what() +
                            "). Repeat the same batch to find out.",
                        {}};
    // Also those refused: they may have been refused because of what another did here.
    reject_all(group, unknown);
    return roll_back();
  }
  ++transactions_;
  // What wrote nothing synced nothing.
  if (!wrote_frames_) return;
  acknowledged_.note(static_cast<std::uint32_t>(wal_pages_), synchronous_full_ == true);
}

// A newer build may have opened the store since. What it made of the tables is not for us to write
// to, also where our statements would still fit.
Result<void> Writer::check_is_our_format() {
  const std::int64_t found = read_format(connection_);
  if (found <= options_.format) return {};
  gate_.close(fmt::format(
      "the store was migrated to format {} by a newer build; reopen it with that one", found));
  return gate_.check();
}

// False if nothing is left to commit.
bool Writer::apply_all(const Group& group) {
  const bool shared = group.size() > 1;
  for (Request* request : group) {
    apply_one(*request, shared);
    // Some errors, a full disk among them, end the whole transaction: then no
    // writes are there, not even those applied before.
    if (connection_.is_idle()) {
      reject_all(group,
                 request->failed.value_or(Error{ErrorCode::unavailable, "undone by SQLite", {}}));
      return false;
    }
  }
  return std::ranges::any_of(group, [](auto* r) { return r->accepted; });
}

void Writer::apply_one(Request& request, bool shared) {
  if (shared) connection_.run("SAVEPOINT request");
  try {
    request.accepted = request.apply(connection_);
  } catch (const SqliteError& error) {
    close_after(error);
    request.failed = error.to_error();
  } catch (const std::bad_alloc&) {
    request.failed = Error{ErrorCode::unavailable, "out of memory", {}};
  }
  if (!shared || connection_.is_idle()) return;
  if (!request.accepted) connection_.run("ROLLBACK TO request");
  connection_.run("RELEASE request");
}

void Writer::roll_back() {
  if (connection_.is_idle()) return;
  try {
    connection_.run("ROLLBACK");
  } catch (const SqliteError& error) {
    gate_.close(std::string("a rollback failed (") + error.what() + "). Reopen the store.");
  }
}

void Writer::close_after(const SqliteError& error) {
  if (error.is_failed_sync()) gate_.close_for_all();
}

// Requests that came while the leader waited would wait as long for the same process.
void Writer::reject_waiting(const Error& error) {
  Group late;
  {
    const std::scoped_lock lock(mutex_);
    late.swap(queue_);
  }
  reject_all(late, error);
  answer(late);
}

void Writer::set_synchronous(bool full) {
  if (synchronous_full_ == full) return;
  connection_.run(full ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL");
  synchronous_full_ = full;
}

void Writer::answer(const Group& group) {
  const std::scoped_lock lock(mutex_);
  for (Request* request : group) {
    request->answered = true;
    request->ready.notify_one();
  }
}

// Done while it is still this process's turn: beside a busy writer a checkpoint
// never reaches the end of the WAL, and the WAL grows without bound.
void Writer::checkpoint_if_large() {
  // After a failed sync the WAL may not hold what its index says.
  if (wal_pages_ < checkpoint_at_ || !gate_.check()) return;
  const bool far_beyond = wal_pages_ >= wal_pages_max;
  const bool complete =
      write_back(far_beyond ? SQLITE_CHECKPOINT_RESTART : SQLITE_CHECKPOINT_PASSIVE);
  // What a reader held back is tried again when as much has come on top of it; a reader that
  // stays, such as a backup, is asked ever more seldom.
  checkpoint_at_ =
      complete ? checkpoint_pages : wal_pages_ + std::max(checkpoint_pages, wal_pages_ / 2);
}

bool Writer::write_back(int mode) {
  int pages = 0;
  int written_back = 0;
  acknowledged_.begin_write_back();
  sqlite3_busy_timeout(connection_.handle(), readers_wait_ms);
  const int code =
      sqlite3_wal_checkpoint_v2(connection_.handle(), nullptr, mode, &pages, &written_back);
  sqlite3_busy_timeout(connection_.handle(), busy_wait_ms);
  close_after(SqliteError(code, "checkpoint"));
  const bool complete = code == SQLITE_OK && pages == written_back;
  acknowledged_.end_write_back(complete);
  return complete;
}

// Closing, SQLite writes back and deletes the WAL if no one else has the file open; then the
// frames of the record are gone. Where this does not come to it the marks tell (Acknowledged).
void Writer::finish() noexcept try {
  if (!lock_file_.take_turn(Duration{0})) return;
  const bool may_write = gate_.check() || gate_.has_log_in_hand();
  if (may_write && acknowledged_.has_claims()) write_back(SQLITE_CHECKPOINT_PASSIVE);
  lock_file_.end_turn();
} catch (const std::exception&) {  // NOLINT(bugprone-empty-catch)
  // No memory for the words of an error. The turn ends with the lock file.
}

Result<bool> Writer::empty_wal() {
  Request request{
      .apply = [](Connection&) { return true; }, .sync = Sync::later, .empties_wal = true};
  submit(request);
  if (request.failed) return std::unexpected(*std::move(request.failed));
  return request.emptied;
}

// Before any request is answered: those that asked for it depend on it.
void Writer::empty_wal_for(const Group& group) {
  const auto wants = [](const Request* r) { return r->empties_wal && r->accepted; };
  if (std::ranges::none_of(group, wants)) return;
  if (!write_back(SQLITE_CHECKPOINT_TRUNCATE)) return;
  wal_pages_ = 0;
  checkpoint_at_ = checkpoint_pages;
  for (Request* request : group) request->emptied = true;
}

void Writer::reject_all(const Group& group, const Error& error) {
  for (Request* request : group) {
    request->accepted = false;
    request->failed = error;
  }
}

}  // namespace perdure::sqlite
