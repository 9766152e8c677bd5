// Two copies of a header of 48 bytes, then what checkpoints did, then the pages of the first frames;
// every further region holds only pages, and a table to find them.

#include "sqlite/wal_index.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <sqlite3.h>

#include "sqlite/connection.hpp"

namespace perdure::sqlite {
namespace {

constexpr int index_region_bytes = 32768;
constexpr std::size_t index_header_bytes = 48;
constexpr std::size_t both_headers_bytes = 2 * index_header_bytes;
constexpr std::size_t before_pages_bytes = 136;
constexpr std::uint32_t frames_per_region = 4096;
constexpr std::uint32_t frames_of_first = frames_per_region - before_pages_bytes / 4;

using Shared = unsigned char volatile*;

sqlite3_file* file_by(Connection& connection, int which) {
  sqlite3_file* file = nullptr;
  sqlite3_file_control(connection.handle(), "main", which, static_cast<void*>(&file));
  return file;
}

/// The memory, as long as this lives. Before SQLite itself has opened the WAL it does not know
/// that the file has it, and would not give it back when it closes the file.
class SharedMemory {
 public:
  explicit SharedMemory(Connection& connection)
      : file_(file_by(connection, SQLITE_FCNTL_FILE_POINTER)) {
    const sqlite3_file* wal = file_by(connection, SQLITE_FCNTL_JOURNAL_POINTER);
    is_sqlites_ = wal != nullptr && wal->pMethods != nullptr;
  }
  ~SharedMemory() {
    if (can_be_shared() && !is_sqlites_) file_->pMethods->xShmUnmap(file_, 0);
  }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  /// Null if it is not there. The code is SQLite's.
  Shared map(int region, int& code) {
    void volatile* memory = nullptr;
    code = can_be_shared() ? file_->pMethods->xShmMap(file_, region, index_region_bytes, 0, &memory)
                           : SQLITE_IOERR_SHMMAP;
    return code == SQLITE_OK ? static_cast<Shared>(memory) : nullptr;
  }
  void barrier() { file_->pMethods->xShmBarrier(file_); }

 private:
  [[nodiscard]] bool can_be_shared() const { return file_->pMethods->iVersion >= 2; }

  sqlite3_file* file_;
  bool is_sqlites_ = false;
};

std::uint32_t shared_word(const unsigned char volatile* bytes, std::size_t at) {
  std::array<unsigned char, 4> copy{};
  for (std::size_t i = 0; i < copy.size(); ++i) copy[i] = bytes[at + i];
  std::uint32_t word = 0;
  std::memcpy(&word, copy.data(), sizeof word);
  return word;
}

std::uint32_t page_size_from(std::uint32_t flags_and_size) {
  std::array<std::uint16_t, 2> halves{};
  std::memcpy(halves.data(), &flags_and_size, sizeof flags_and_size);
  return halves[1] == 1 ? 65536U : halves[1];
}

bool are_copies_equal(const unsigned char volatile* bytes) {
  for (std::size_t i = 0; i < index_header_bytes; ++i) {
    if (bytes[i] != bytes[index_header_bytes + i]) return false;
  }
  return true;
}

}  // namespace

std::optional<WalIndex> read_wal_index(Connection& connection) noexcept {
  SharedMemory memory(connection);
  int code = SQLITE_OK;
  const Shared bytes = memory.map(0, code);
  if (bytes == nullptr) return std::nullopt;
  memory.barrier();
  const WalIndex index{.salts = {shared_word(bytes, 32), shared_word(bytes, 36)},
                       .frames = shared_word(bytes, 16),
                       .written_back = shared_word(bytes, both_headers_bytes),
                       .page_size = page_size_from(shared_word(bytes, 12)),
                       .pages = shared_word(bytes, 20)};
  memory.barrier();
  if (!are_copies_equal(bytes)) return std::nullopt;
  return index;
}

std::uint32_t page_in_frame(Connection& connection, std::uint32_t number) noexcept {
  const bool is_in_first = number <= frames_of_first;
  const std::uint32_t beyond = is_in_first ? 0 : number - frames_of_first - 1;
  const std::uint32_t region = is_in_first ? 0 : 1 + beyond / frames_per_region;
  SharedMemory memory(connection);
  int code = SQLITE_OK;
  const Shared bytes = memory.map(static_cast<int>(region), code);
  if (bytes == nullptr || number == 0) return 0;
  if (is_in_first) return shared_word(bytes, before_pages_bytes + 4 * std::size_t{number - 1});
  return shared_word(bytes, 4 * std::size_t{beyond % frames_per_region});
}

void forget_wal_index(Connection& connection) {
  SharedMemory memory(connection);
  int code = SQLITE_OK;
  const Shared bytes = memory.map(0, code);
  if (code != SQLITE_OK) throw SqliteError(code, "cannot map the index of the WAL");
  for (std::size_t i = 0; bytes != nullptr && i < both_headers_bytes; ++i) bytes[i] = 0;
  if (bytes != nullptr) memory.barrier();
}

}  // namespace perdure::sqlite
