// What noticing changes costs, and when.

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <gtest/gtest.h>
#include <system_error>

#include "doubles/must.hpp"
#include "doubles/temp_folder.hpp"
#include "perdure/store/store.hpp"

namespace perdure {
namespace {

std::size_t watches_of_this_process() {
  std::size_t count = 0;
  for (const auto& file : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code closed;
    if (std::filesystem::read_symlink(file, closed) == "anon_inode:inotify") ++count;
  }
  return count;
}

TEST(WatcherTest, OnlyWhoeverWaitsWatches) {
  const TempFolder folder;
  const auto store = must(open_store(folder.file("store.db")));
  const auto seen = must(store->change_number());
  EXPECT_EQ(watches_of_this_process(), 0U);
  must(store->wait_for_change(seen, std::chrono::milliseconds(1)));
  EXPECT_EQ(watches_of_this_process(), 1U);
}

}  // namespace
}  // namespace perdure
