// A folder in memory that outlives whoever mirrors into it, and fails when a test says so.

#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "perdure/core/error.hpp"
#include "scratchpad/folder.hpp"

namespace perdure::scratch {

struct FakeDisk {
  struct File {
    std::string bytes{};
    Stamp stamp{};
  };

  /// Somebody saves a file.
  void save(const std::string& name, const std::string& bytes) {
    if (moves) ++now;
    files[name] = {bytes, {.inode = 1, .size = bytes.size(), .changed_ns = now}};
  }
  [[nodiscard]] std::map<std::string, std::string> texts() const {
    std::map<std::string, std::string> all;
    for (const auto& [name, file] : files) {
      if (!name.starts_with('.')) all[name] = file.bytes;
    }
    return all;
  }

  std::map<std::string, File> files;
  std::set<std::string> odd;                           ///< No plain files.
  std::set<std::string> unreadable;                    ///< Plain, and not for us.
  int changes_left = std::numeric_limits<int>::max();  ///< Then everything fails.
  int reads = 0;
  std::int64_t now = 1;
  bool moves = true;  ///< Off: time stands still, as it does between two ticks.
};

class FakeFolder final : public Folder {
 public:
  explicit FakeFolder(FakeDisk& disk) : disk_(disk) {}

  [[nodiscard]] Result<Listing> list() override {
    if (disk_.moves) ++disk_.now;
    Listing listing{.begun_ns = disk_.now};
    for (const auto& [name, file] : disk_.files) {
      listing.files.push_back(
          {.name = name, .stamp = file.stamp, .is_file = !disk_.odd.contains(name)});
    }
    return listing;
  }

  [[nodiscard]] Result<std::optional<std::string>> read(const std::string& name) override {
    ++disk_.reads;
    if (disk_.odd.contains(name)) return fail(ErrorCode::invalid_argument, "no plain file");
    if (disk_.unreadable.contains(name)) return fail(ErrorCode::unavailable, "not for us");
    const auto file = disk_.files.find(name);
    if (file == disk_.files.end()) return std::nullopt;
    return file->second.bytes;
  }

  [[nodiscard]] Result<void> write(const std::string& name, const std::string& bytes) override {
    if (auto changed = change(); !changed) return changed;
    disk_.save(name, bytes);
    return {};
  }

  [[nodiscard]] Result<void> remove(const std::string& name) override {
    if (auto changed = change(); !changed) return changed;
    disk_.files.erase(name);
    return {};
  }

 private:
  [[nodiscard]] Result<void> change() {
    if (disk_.changes_left-- > 0) return {};
    disk_.changes_left = 0;
    return fail(ErrorCode::unavailable, "no more changes");
  }

  FakeDisk& disk_;
};

}  // namespace perdure::scratch
