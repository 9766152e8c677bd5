// The record of the WAL as bytes, then the lock file.

#include "sqlite/engine/lock_file.hpp"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <unistd.h>
#include <utility>

#include "core/api/descriptor.hpp"
#include "files/file_lock.hpp"
#include "perdure/core/error.hpp"
#include "sqlite/engine/write_lock.hpp"

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

std::uint64_t current_boot() {
  std::array<char, 64> text{};
  const Descriptor file(::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) return 0;
  const auto size = ::read(file.get(), text.data(), text.size());
  return size > 0 ? sum_of(text.data(), static_cast<std::size_t>(size)) : 0;
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
// machine share: a machine that dies has no writers to be told.
//
// Both are read at once: every turn begins with the counts, and a commit ends it with the
// record, so that neither costs a call to the kernel of its own.

namespace {

constexpr std::string_view first_line = "perdure\n";
constexpr off_t failures_at = first_line.size();
constexpr off_t record_at = failures_at + sizeof(LockFile::Failures);

}  // namespace

Result<LockFile> LockFile::open(const std::string& path, mode_t rights) {
  auto file = open_file(path, rights);
  if (!file) return forward(file);
  auto turn = WriteLock::open(path);
  if (!turn) return forward(turn);
  return LockFile(path, *std::move(file), *std::move(turn));
}

Result<bool> LockFile::hold_worker(std::int64_t number) {
  const int failure = lock_byte(file_, worker_base + number, LockWait::no);
  if (failure == 0) return true;
  if (failure == EAGAIN || failure == EACCES) return false;
  return fail(ErrorCode::unavailable,
              fmt::format("cannot lock {}: {}", path_, std::strerror(failure)));
}

void LockFile::drop_worker(std::int64_t number) { unlock_byte(file_, worker_base + number); }

bool LockFile::is_held_elsewhere(std::int64_t number) const {
  return is_locked_elsewhere(file_, worker_base + number);
}

void LockFile::touch() {
  // A failed touch delays a waiter until its next look; it cannot lose a write.
  [[maybe_unused]] const auto written =
      ::pwrite(file_.get(), first_line.data(), first_line.size(), 0);
}

void LockFile::touch(const WalRecord& record) {
  // One that is not written leaves an older record, which claims less.
  [[maybe_unused]] const auto written = ::pwrite(file_.get(), &record, sizeof record, record_at);
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
  [[maybe_unused]] const auto written =
      ::pwrite(file_.get(), &failures, sizeof failures, failures_at);
}

}  // namespace perdure::sqlite
