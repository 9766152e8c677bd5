// The first eight bytes are a line for people; the counts of failed syncs follow it.
// They live in the kernel's cache, which all processes of the machine share: a
// machine that dies has no writers to be told.

#include "sqlite/lock_file.hpp"

#include <cstdint>
#include <cstring>
#include <fmt/format.h>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>

#include "perdure/core/error.hpp"
#include "sqlite/file_lock.hpp"
#include "sqlite/turn.hpp"

namespace perdure::sqlite {
namespace {

constexpr std::string_view first_line = "perdure\n";
constexpr off_t failures_at = first_line.size();

}  // namespace

Result<LockFile> LockFile::open(const std::string& path) {
  auto file = Descriptor::open(path);
  if (!file) return forward(file);
  auto turn = Turn::open(path);
  if (!turn) return forward(turn);
  return LockFile(path, *std::move(file), *std::move(turn));
}

Result<void> LockFile::hold_worker(std::int64_t number) {
  const int failure = lock_byte(file_, worker_base + number, LockWait::no);
  if (failure == 0) return {};
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
      ::pwrite(file_.number(), first_line.data(), first_line.size(), 0);
}

LockFile::Failures LockFile::failures() const {
  Failures failures;
  const auto size = ::pread(file_.number(), &failures, sizeof failures, failures_at);
  return size == sizeof failures ? failures : Failures{};
}

void LockFile::set_failures(Failures failures) {
  // If this fails too, only this store object knows; it is closed in any case.
  [[maybe_unused]] const auto written =
      ::pwrite(file_.number(), &failures, sizeof failures, failures_at);
}

}  // namespace perdure::sqlite
