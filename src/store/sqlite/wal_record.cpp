// The sum is FNV-1a. Numbers are in the machine's own order: no other machine's record counts.

#include "sqlite/wal_record.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

#include "core/api/descriptor.hpp"

namespace perdure::sqlite {
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

}  // namespace perdure::sqlite
