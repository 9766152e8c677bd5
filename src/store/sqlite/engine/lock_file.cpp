// The record of the WAL as bytes, then the lock file and its locks.

#include "sqlite/engine/lock_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fmt/format.h>
#include <fstream>
#include <poll.h>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>
#include <utility>

#include "core/api/deadline.hpp"
#include "core/api/descriptor.hpp"
#include "files/file_lock.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/time.hpp"

namespace perdure::sqlite {

// The sum is FNV-1a. Numbers are in the machine's own order: no other machine's record counts.

namespace {

static_assert(sizeof(WalRecord) == 64, "no byte of it is without meaning");

// A file of zeros must not pass for a record.
std::uint64_t sum_of_record(const WalRecord& record) {
  std::array<char, offsetof(WalRecord, sum)> bytes{};
  std::memcpy(bytes.data(), &record, bytes.size());
  return sum_of(bytes.data(), bytes.size());
}

}  // namespace

void WalRecord::seal() { sum = sum_of_record(*this); }

bool WalRecord::is_sealed() const { return sum == sum_of_record(*this); }

std::string boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

std::uint64_t current_boot() {
  const std::string id = boot_id();
  return id.empty() ? 0 : sum_of(id.data(), id.size());
}

std::uint64_t sum_of(const char* bytes, std::size_t count) {
  std::uint64_t sum = 0xCBF2'9CE4'8422'2325;
  for (std::size_t i = 0; i < count; ++i) {
    sum = (sum ^ static_cast<unsigned char>(bytes[i])) * 0x0000'0100'0000'01B3;
  }
  return sum;
}

// The first eight bytes are a line for people; the counts of failed syncs follow it, then
// the record of the WAL. They live in the kernel's cache, which all processes of the
// machine share: a machine that dies has no writers to warn.
//
// Both are read at once: every turn begins with the counts, and a commit ends it with the
// record, so that neither costs a call to the kernel of its own.

namespace {

constexpr std::string_view first_line = "perdure\n";
constexpr off_t failures_at = first_line.size();
constexpr off_t record_at = failures_at + sizeof(LockFile::Failures);

void write_at(const Descriptor& file, const void* bytes, std::size_t count, off_t offset) {
  [[maybe_unused]] const auto written = ::pwrite(file.get(), bytes, count, offset);
}

// The kernel gives a lock to the first to ask after a release. So a second byte is the door: those
// who wait for the turn hold it, and the last to have the turn cannot pass. 0, or the kernel's
// error number; the door stays locked if only the turn is not free.
int try_turn(const Descriptor& file) {
  if (const int failure = lock_byte(file, door_byte, LockWait::no); failure != 0) return failure;
  const int failure = lock_byte(file, turn_byte, LockWait::no);
  if (failure == 0) unlock_byte(file, door_byte);
  return failure;
}

bool is_taken(int failure) { return failure == EAGAIN || failure == EACCES; }

}  // namespace

Result<LockFile> LockFile::open(const std::string& path, mode_t rights) {
  auto file = open_file(path, rights);
  if (!file) return forward(file);
  if (::lseek(file->get(), 0, SEEK_END) == 0) {
    write_at(*file, first_line.data(), first_line.size(), 0);
  }
  return LockFile(path, *std::move(file));
}

// A lock of the kernel has no deadline, so a process that waits asks again: soon at first, as most
// turns are one commit long. A pause that a signal or a busy machine makes shorter or longer does no
// harm, because the clock ends the wait.
Result<void> LockFile::take_turn(Duration wait, const Clock& clock) {
  constexpr long longest_pause_ns = 1'000'000;
  int failure = try_turn(file_);
  if (is_taken(failure)) {
    const Deadline deadline(wait, clock);
    timespec pause{.tv_sec = 0, .tv_nsec = 50'000};
    while (is_taken(failure) && !deadline.is_over()) {
      static_cast<void>(::ppoll(nullptr, 0, &pause, nullptr));
      pause.tv_nsec = std::min(2 * pause.tv_nsec, longest_pause_ns);
      failure = try_turn(file_);
    }
  }
  if (failure == 0) return {};
  unlock_byte(file_, door_byte);
  if (!is_taken(failure)) {
    return fail(ErrorCode::unavailable,
                fmt::format("cannot lock {}: {}", path_, std::strerror(failure)));
  }
  return fail(
      ErrorCode::unavailable,
      fmt::format("no turn to write within {} ms: other processes that use {} write all the "
                  "time, or one of them was stopped in the middle",
                  wait.count(), path_),
      "store_in_use");
}

void LockFile::end_turn() { unlock_byte(file_, turn_byte); }

Result<bool> LockFile::hold_worker(std::int64_t number) {
  const int failure = lock_byte(file_, worker_base + number, LockWait::no);
  if (failure == 0) return true;
  if (is_taken(failure)) return false;
  return fail(ErrorCode::unavailable,
              fmt::format("cannot lock {}: {}", path_, std::strerror(failure)));
}

void LockFile::drop_worker(std::int64_t number) { unlock_byte(file_, worker_base + number); }

bool LockFile::is_held_elsewhere(std::int64_t number) const {
  return is_locked_elsewhere(file_, worker_base + number);
}

void LockFile::keep(const WalRecord& record) {
  // One that is not written leaves an older record, which claims less.
  write_at(file_, &record, sizeof record, record_at);
  record_ = record;
}

LockFile::Contents LockFile::read() const {
  Contents contents;
  const auto size = ::pread(file_.get(), &contents, sizeof contents, failures_at);
  if (size < static_cast<ssize_t>(sizeof contents.failures)) contents.failures = {};
  if (size != sizeof contents || !contents.record.is_sealed()) contents.record = {};
  return contents;
}

WalRecord LockFile::read_record() const {
  record_ = read().record;
  return record_;
}

LockFile::Failures LockFile::failures() const {
  const Contents contents = read();
  record_ = contents.record;
  return contents.failures;
}

void LockFile::set_failures(Failures failures) {
  // If this fails too, only this store object knows; it is closed in any case.
  write_at(file_, &failures, sizeof failures, failures_at);
}

}  // namespace perdure::sqlite
