// A cut is made in two passes over a file's unsynced calls: first which of them the disk
// still got to, sector by sector; then, sector by sector, all up to the last of those.

#include "doubles/power_disk.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>

#include "store/sqlite/engine/lock_file.hpp"

namespace perdure {
namespace {

using Kind = DiskCall::Kind;
using Chance = std::mt19937_64;

constexpr std::size_t sector_bytes = 512;

std::size_t sector_of(std::size_t offset) { return offset / sector_bytes; }

// How a cut chooses among the calls of one file.
class Choice {
 public:
  Choice(Loss loss, std::size_t calls, Chance& chance) : chance_(chance) {
    if (loss == Loss::all) return;
    style_ = static_cast<Style>(1 + chance() % 5);
    edge_ = chance() % (calls + 1);
    percent_ = 5 + chance() % 91;
  }

  void begin_call(std::size_t number) {
    number_ = number;
    whole_ = hits();
  }

  // Whether the disk got to this sector of the call.
  bool keeps_sector() {
    switch (style_) {
      case Style::none:
        return false;
      case Style::all:
        return true;
      case Style::calls:
        return whole_;
      case Style::sectors:
        return hits();
      case Style::in_order:
        return number_ < edge_ || (number_ == edge_ && hits());
      case Style::newest_first:
        return number_ > edge_ || (number_ == edge_ && hits());
    }
    return false;
  }

  [[nodiscard]] bool keeps_rubbish() const { return percent_ % 2 == 0; }

 private:
  enum class Style : std::uint8_t { none, all, calls, sectors, in_order, newest_first };

  bool hits() { return chance_() % 100 < percent_; }

  Chance& chance_;
  Style style_ = Style::none;
  std::size_t edge_ = 0;
  std::size_t number_ = 0;
  std::uint64_t percent_ = 0;
  bool whole_ = false;
};

struct Reach {
  std::vector<std::size_t> sectors;  ///< How many of the calls each sector has seen.
  std::size_t size = 0;              ///< The file's, in bytes.
};

std::size_t end_of(const DiskCall& call) {
  return call.kind == Kind::write ? call.offset + call.bytes.size() : call.offset;
}

Reach choose(const std::string& synced, const std::vector<const DiskCall*>& calls, Choice& choice) {
  std::size_t end = synced.size();
  for (const DiskCall* call : calls) end = std::max(end, end_of(*call));
  Reach reach{.sectors = std::vector<std::size_t>(sector_of(end) + 1), .size = synced.size()};
  std::size_t size = synced.size();
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const DiskCall& call = *calls[i];
    choice.begin_call(i);
    const bool truncates = call.kind == Kind::truncate;
    size = truncates ? call.offset : std::max(size, end_of(call));
    if (choice.keeps_sector()) reach.size = size;
    const std::size_t last = truncates ? reach.sectors.size() : sector_of(end_of(call) - 1) + 1;
    for (std::size_t sector = sector_of(call.offset); sector < last; ++sector) {
      if (choice.keeps_sector()) reach.sectors[sector] = i + 1;
    }
  }
  return reach;
}

// Does call `number` to those sectors of `bytes` that have seen it.
void redo(const DiskCall& call, std::size_t number, const Reach& reach, std::string& bytes) {
  const std::size_t end = call.kind == Kind::write ? end_of(call) : bytes.size();
  for (std::size_t from = call.offset; from < end;) {
    const std::size_t to = std::min(end, (sector_of(from) + 1) * sector_bytes);
    if (number < reach.sectors[sector_of(from)]) {
      if (call.kind == Kind::write) {
        bytes.replace(from, to - from, call.bytes, from - call.offset, to - from);
      } else {
        std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(from),
                  bytes.begin() + static_cast<std::ptrdiff_t>(to), '\0');
      }
    }
    from = to;
  }
}

std::string cut(const std::string& synced, const std::vector<const DiskCall*>& calls, Loss loss,
                Chance& chance) {
  Choice choice(loss, calls.size(), chance);
  const Reach reach = choose(synced, calls, choice);
  std::string bytes = synced;
  bytes.resize(reach.sectors.size() * sector_bytes);
  if (choice.keeps_rubbish()) {
    std::generate(bytes.begin() + static_cast<std::ptrdiff_t>(synced.size()), bytes.end(),
                  [&] { return static_cast<char>(chance()); });
  }
  for (std::size_t i = 0; i < calls.size(); ++i) redo(*calls[i], i, reach, bytes);
  bytes.resize(reach.size);
  return bytes;
}

std::string after_another_boot(std::string bytes) {
  constexpr std::size_t record_at = 24;
  sqlite::WalRecord record;
  if (bytes.size() < record_at + sizeof record) return bytes;
  std::memcpy(&record, bytes.data() + record_at, sizeof record);
  if (!record.is_sealed()) return bytes;
  ++record.boot;
  record.seal();
  std::memcpy(bytes.data() + record_at, &record, sizeof record);
  return bytes;
}

}  // namespace

void PowerDisk::apply(const DiskCall& call) {
  switch (call.kind) {
    case Kind::create:
    case Kind::remove:
      unsynced_names_.push_back(&call);
      break;
    case Kind::write:
    case Kind::truncate:
      if (call.kind == Kind::truncate || !call.bytes.empty()) {
        inodes_[call.inode].unsynced.push_back(&call);
      }
      break;
    case Kind::sync: {
      Inode& inode = inodes_[call.inode];
      for (const DiskCall* done : inode.unsynced) {
        if (done->kind == Kind::truncate || inode.synced.size() < end_of(*done))
          inode.synced.resize(end_of(*done));
        if (done->kind == Kind::write)
          inode.synced.replace(done->offset, done->bytes.size(), done->bytes);
      }
      inode.unsynced.clear();
      break;
    }
    case Kind::sync_folder:
      for (const DiskCall* done : unsynced_names_) {
        if (done->kind == Kind::create) synced_names_[done->name] = done->inode;
        if (done->kind == Kind::remove) synced_names_.erase(done->name);
      }
      unsynced_names_.clear();
      break;
    case Kind::lock_file:
      lock_files_.push_back(&call);
      break;
  }
}

PowerDisk::Files PowerDisk::after_power_cut(Loss loss, std::mt19937_64& chance) const {
  auto names = synced_names_;
  // Each name is what it was at some moment since the folder's last sync.
  std::map<std::string, bool> stopped;
  for (const DiskCall* call : unsynced_names_) {
    if (loss == Loss::all || chance() % 3 == 0) stopped[call->name] = true;
    if (stopped[call->name]) continue;
    if (call->kind == Kind::create) names[call->name] = call->inode;
    if (call->kind == Kind::remove) names.erase(call->name);
  }
  Files files;
  for (const auto& [name, number] : names) {
    const auto found = inodes_.find(number);
    files[name] = found == inodes_.end()
                      ? std::string()
                      : cut(found->second.synced, found->second.unsynced, loss, chance);
  }
  if (lock_files_.empty() || chance() % 4 == 0) return files;
  const std::size_t newest = lock_files_.size() - 1;
  const DiskCall& lock = *lock_files_[chance() % 2 == 0 ? newest : chance() % (newest + 1)];
  files[lock.name] = after_another_boot(lock.bytes);
  return files;
}

void put_into(const std::string& folder, const PowerDisk::Files& files, std::mt19937_64& chance) {
  const auto put = [&](const std::string& name, const std::string& bytes) {
    std::ofstream file(std::filesystem::path(folder) / name, std::ios::binary);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  };
  for (const auto& [name, bytes] : files) {
    put(name, bytes);
    const bool is_database = name.find('-') == std::string::npos;
    if (!is_database || chance() % 3 != 0) continue;
    std::string rubbish(32768, '\0');
    std::ranges::generate(rubbish, [&] { return static_cast<char>(chance()); });
    put(name + "-shm", rubbish);
  }
}

}  // namespace perdure
