// SQLite's own VFS syncs the folder of a journal or WAL with the file's first sync; so
// does this one. A database file is never given that: its name rests on its journal's.

#include "doubles/power_vfs.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

namespace perdure {
namespace {

using Kind = DiskCall::Kind;

constexpr std::uint64_t folder_pending = std::uint64_t{1} << 63;

std::string name_of(const char* path) { return std::filesystem::path(path).filename().string(); }

std::string read_all(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool is_ours_to_keep(const std::string& name) {
  return !name.ends_with("-shm") && !name.ends_with("-lock");
}

}  // namespace

PowerVfs::PowerVfs(std::string name, const std::string& folder) : VfsShim(std::move(name)) {
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    const std::string found = file.path().filename().string();
    if (!is_ours_to_keep(found)) continue;
    const std::uint64_t inode = note_created(found);
    note({.kind = Kind::write, .inode = inode, .bytes = read_all(file.path())});
    note({.kind = Kind::sync, .inode = inode});
  }
  note({.kind = Kind::sync_folder});
}

std::size_t PowerVfs::calls() const {
  const std::scoped_lock lock(mutex_);
  return calls_.size();
}

std::vector<DiskCall> PowerVfs::take() {
  const std::scoped_lock lock(mutex_);
  return std::move(calls_);
}

void PowerVfs::note(DiskCall call) {
  const std::scoped_lock lock(mutex_);
  note_lock_file();
  calls_.push_back(std::move(call));
}

void PowerVfs::note_lock_file() {
  if (lock_path_.empty()) return;
  std::string bytes = read_all(lock_path_);
  if (bytes == lock_bytes_) return;
  lock_bytes_ = std::move(bytes);
  calls_.push_back(
      {.kind = Kind::lock_file, .name = name_of(lock_path_.c_str()), .bytes = lock_bytes_});
}

std::uint64_t PowerVfs::note_created(const std::string& name) {
  const std::scoped_lock lock(mutex_);
  const auto [known, is_new] = inodes_.try_emplace(name, inodes_made_ + 1);
  if (is_new) {
    ++inodes_made_;
    calls_.push_back({.kind = Kind::create, .name = name, .inode = known->second});
  }
  return known->second;
}

int PowerVfs::open(File& file, int* out_flags) {
  const int code = VfsShim::open(file, out_flags);
  if (code != SQLITE_OK || file.path == nullptr) return code;
  file.tag = note_created(name_of(file.path));
  if ((file.flags & SQLITE_OPEN_MAIN_DB) != 0) {
    const std::scoped_lock lock(mutex_);
    lock_path_ = std::string(file.path) + "-lock";
  }
  constexpr int journals = SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_SUPER_JOURNAL;
  const bool creates = (file.flags & SQLITE_OPEN_CREATE) != 0;
  if (creates && (file.flags & journals) != 0) file.tag |= folder_pending;
  return code;
}

int PowerVfs::write(File& file, const WriteSpan& span) {
  const auto* data = static_cast<const char*>(span.data);
  note({.kind = Kind::write,
        .inode = file.tag & ~folder_pending,
        .offset = static_cast<std::uint64_t>(span.offset),
        .bytes = std::string(data, static_cast<std::size_t>(span.size))});
  return VfsShim::write(file, span);
}

int PowerVfs::truncate(File& file, sqlite3_int64 size) {
  note({.kind = Kind::truncate,
        .inode = file.tag & ~folder_pending,
        .offset = static_cast<std::uint64_t>(size)});
  return VfsShim::truncate(file, size);
}

int PowerVfs::sync(File& file, int /*flags*/) {
  note({.kind = Kind::sync, .inode = file.tag & ~folder_pending});
  if ((file.tag & folder_pending) != 0) note({.kind = Kind::sync_folder});
  file.tag &= ~folder_pending;
  return SQLITE_OK;
}

int PowerVfs::remove(const char* path, int sync_folder) {
  const int code = VfsShim::remove(path, 0);
  if (code != SQLITE_OK) return code;
  const std::string name = name_of(path);
  {
    const std::scoped_lock lock(mutex_);
    calls_.push_back({.kind = Kind::remove, .name = name, .inode = inodes_[name]});
    inodes_.erase(name);
  }
  if (sync_folder != 0) note({.kind = Kind::sync_folder});
  return code;
}

}  // namespace perdure
