// Layouts as SQLite's file format documentation has them.

#include "sqlite/salvage/page_source.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <fcntl.h>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <unordered_map>
#include <utility>

#include "core/api/descriptor.hpp"
#include "sqlite/engine/summing_vfs.hpp"

namespace perdure::sqlite {
namespace {

constexpr std::size_t log_header_bytes = 32;
constexpr std::size_t frame_header_bytes = 24;
constexpr std::uint32_t log_magic = 0x377F'0682;  // Its lowest bit: words are big-endian.
constexpr std::uint32_t own_page_size = 8192;     // What Perdure makes stores with.

bool is_page_size(std::uint32_t size) {
  return size >= 512 && size <= 65536 && (size & (size - 1)) == 0;
}

// A running checksum of the log.
struct Checksum {
  std::uint32_t one = 0;
  std::uint32_t two = 0;

  void add(std::string_view bytes, bool big_endian) {
    const auto word = [&](std::size_t at) {
      const std::uint32_t value = big_endian_32(bytes, at);
      return big_endian ? value : __builtin_bswap32(value);
    };
    for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8) {
      one += word(at) + two;
      two += word(at + 4) + one;
    }
  }
  bool operator==(const Checksum&) const = default;
};

Checksum checksum_at(std::string_view bytes, std::size_t offset) {
  return {big_endian_32(bytes, offset), big_endian_32(bytes, offset + 4)};
}

struct LogHeader {
  bool big_endian = false;
  std::uint32_t page_size = 0;
  std::string salts;
  Checksum checksum;
};

std::optional<LogHeader> read_log_header(const Bytes& log) {
  const std::string bytes = log.read(0, log_header_bytes);
  if (bytes.size() < log_header_bytes) return std::nullopt;
  const std::uint32_t magic = big_endian_32(bytes, 0);
  if ((magic & ~1U) != log_magic) return std::nullopt;
  LogHeader header{.big_endian = (magic & 1U) != 0,
                   .page_size = big_endian_32(bytes, 8),
                   .salts = bytes.substr(16, 8),
                   .checksum = checksum_at(bytes, 24)};
  Checksum counted;
  counted.add(std::string_view(bytes).substr(0, 24), header.big_endian);
  if (counted != header.checksum || !is_page_size(header.page_size)) return std::nullopt;
  return header;
}

// How many bytes of the file lie in pages that look like pages, if they have this size.
std::uint64_t plausible_bytes(const Bytes& file, std::uint32_t page_size) {
  constexpr std::uint64_t pages_max = 4096;
  const std::uint64_t pages = std::min(file.size / page_size, pages_max);
  std::uint64_t found = 0;
  for (std::uint64_t page = 1; page < pages; ++page) {
    const std::string head = file.read(page * page_size, 12);
    if (head.size() < 12) break;
    const auto kind = static_cast<unsigned char>(head[0]);
    const bool is_kind = kind == 2 || kind == 5 || kind == 10 || kind == 13;
    const std::uint32_t cells = big_endian_16(head, 3);
    const std::uint32_t content = big_endian_16(head, 5);
    if (is_kind && cells > 0 && content >= 8 + 2 * cells && content < page_size) found += page_size;
  }
  return found;
}

}  // namespace

Bytes Bytes::of(std::string_view bytes) {
  return {.size = bytes.size(), .read = [bytes](std::uint64_t offset, std::size_t count) {
            return offset < bytes.size() ? std::string(bytes.substr(offset, count)) : std::string();
          }};
}

Bytes Bytes::of_file(const std::string& path) {
  Descriptor opened(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!opened.is_open() && errno == ENOENT) return Bytes::of({});
  if (!opened.is_open()) throw std::system_error(errno, std::generic_category(), path);
  // Shared by the copies of the reading function, and closed with the last of them.
  const auto file = std::make_shared<const Descriptor>(std::move(opened));
  struct stat about{};
  if (::fstat(file->get(), &about) != 0)
    throw std::system_error(errno, std::generic_category(), path);
  const auto read = [file](std::uint64_t offset, std::size_t count) {
    std::string bytes(count, '\0');
    std::size_t done = 0;
    while (done < count) {
      const ssize_t got = ::pread(file->get(), bytes.data() + done, count - done,
                                  static_cast<off_t>(offset + done));
      if (got == 0) break;
      if (got < 0 && errno == EINTR) continue;
      // A place the disk cannot read is one more damaged page.
      if (got < 0) break;
      done += static_cast<std::size_t>(got);
    }
    bytes.resize(done);
    return bytes;
  };
  return {.size = static_cast<std::uint64_t>(about.st_size), .read = read};
}

PageSource::PageSource(Bytes file, Bytes log, LogPart part)
    : file_(std::move(file)), log_(std::move(log)) {
  find_page_size();
  constexpr std::uint64_t most = std::numeric_limits<std::uint32_t>::max() - 1;
  page_count_ =
      static_cast<std::uint32_t>(std::min(most, (file_.size + page_size_ - 1) / page_size_));
  read_log(part);
  find_usable_size();
}

// The header may lie. The log's has a checksum; pages have a look of their own.
void PageSource::find_page_size() {
  if (const auto header = read_log_header(log_)) {
    page_size_ = header->page_size;
    return;
  }
  const std::uint32_t stored = big_endian_16(file_.read(16, 2), 0);
  const std::uint32_t said = stored == 1 ? 65536 : stored;
  page_size_ = own_page_size;
  if (said == own_page_size) return;
  const std::uint64_t best = plausible_bytes(file_, own_page_size);
  if (is_page_size(said) && plausible_bytes(file_, said) > best) page_size_ = said;
}

// A right sum is none by chance; where there is none, as the header says.
void PageSource::find_usable_size() {
  usable_size_ = page_size_;
  if (page_size_ != summed_page_bytes) return;
  constexpr std::uint32_t pages_max = 64;
  const auto is_summed = [&](std::uint32_t page) {
    const std::string bytes = file_.read(std::uint64_t{page - 1} * page_size_, page_size_);
    return bytes.size() == page_size_ && has_right_sum(bytes, page);
  };
  bool has_sums = says_sums(read(1).value_or(std::string()));
  for (std::uint32_t page = 1; !has_sums && page <= std::min(pages_max, page_count_); ++page) {
    has_sums = is_summed(page);
  }
  if (has_sums) usable_size_ -= sum_bytes;
}

std::optional<std::string> PageSource::read(std::uint32_t page) const {
  if (page == 0 || page > page_count_) return std::nullopt;
  const auto frame = in_log_.find(page);
  std::string bytes = frame == in_log_.end()
                          ? file_.read(std::uint64_t{page - 1} * page_size_, page_size_)
                          : log_.read(frame->second, page_size_);
  if (bytes.empty()) return std::nullopt;
  // Rows lie at the end of a page, but trees and overflows begin at its front.
  bytes.resize(page_size_, '\0');
  return bytes;
}

// Frames of the log count only if their checksums are right.
bool PageSource::is_proven(std::uint32_t page, std::string_view bytes) const {
  const bool has_sums = usable_size_ < page_size_;
  return has_sums && !has_gap_ && (in_log_.contains(page) || has_right_sum(bytes, page));
}

// Each frame goes on from the checksum that the one before it states, right or not: so what comes
// after a damaged frame can still be told from what is left of an older log. Frames count from the
// commit that ends their transaction on.
void PageSource::read_log(LogPart part) {
  const auto header = read_log_header(log_);
  const bool big_endian = header && header->big_endian;
  const std::string salts = header ? header->salts : log_.read(log_header_bytes + 8, 8);
  std::optional<Checksum> before;
  if (header) before = header->checksum;
  std::unordered_map<std::uint32_t, std::uint64_t> pending;
  const std::uint64_t frame_bytes = frame_header_bytes + page_size_;
  bool is_damaged = !header;
  for (std::uint64_t at = log_header_bytes; at + frame_bytes <= log_.size; at += frame_bytes) {
    const std::string frame = log_.read(at, frame_bytes);
    if (frame.size() < frame_bytes) return;
    const Checksum stated = checksum_at(frame, 16);
    Checksum counted = before.value_or(Checksum{});
    counted.add(std::string_view(frame).substr(0, 8), big_endian);
    counted.add(std::string_view(frame).substr(frame_header_bytes), big_endian);
    const bool is_right = before && counted == stated && frame.compare(8, 8, salts) == 0;
    before = stated;
    if (!is_right) is_damaged = true;
    if (is_damaged && part == LogPart::up_to_damage) return;
    if (!is_right) continue;
    const std::uint32_t page = big_endian_32(frame, 0);
    if (page == 0) continue;
    has_gap_ = is_damaged;
    pending[page] = at + frame_header_bytes;
    if (big_endian_32(frame, 4) == 0) continue;
    for (const auto& [number, place] : pending) {
      in_log_[number] = place;
      page_count_ = std::max(page_count_, number);
    }
    pending.clear();
  }
}

}  // namespace perdure::sqlite
