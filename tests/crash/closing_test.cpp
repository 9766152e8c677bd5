// Two processes on one store, each closed properly or killed, in any order, with and without
// a checkpoint in between. What is left is whole, and no WAL is missed that was written back;
// where one is missed that was not, it is named.

#include <array>
#include <filesystem>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "crash/child_process.hpp"
#include "doubles/temp_folder.hpp"
#include "perdure/store/store.hpp"

namespace perdure {
namespace {

enum class End : std::uint8_t { closed, killed };

struct Order {
  End first = End::closed;
  End second = End::closed;
  bool fills = false;    ///< A checkpoint happens while both are there.
  bool between = false;  ///< The second one commits after the first is gone.

  [[nodiscard]] bool ends_with_a_kill() const { return second == End::killed; }
};

void PrintTo(const Order& order, std::ostream* out) {
  *out << (order.first == End::closed ? "closed" : "killed") << "_then_"
       << (order.second == End::closed ? "closed" : "killed")
       << (order.fills ? "_with_checkpoints" : "") << (order.between ? "_commit_between" : "");
}

class Closing : public testing::TestWithParam<Order> {
 protected:
  static void tell(ChildProcess& child, const std::string& what, const std::string& answer) {
    child.tell(what);
    ASSERT_EQ(child.read_line(), answer);
  }

  static void end(ChildProcess& child, End how) {
    if (how == End::closed) return tell(child, "close", "closed");
    child.kill();
    EXPECT_TRUE(child.wait().was_killed());
  }

  // Both commit; then they end, in this order.
  void run(const Order& order) const {
    ChildProcess first("crash_closer", {path, "first"});
    ASSERT_EQ(first.read_line(), "open");
    ChildProcess second("crash_closer", {path, "second"});
    ASSERT_EQ(second.read_line(), "open");
    tell(first, "commit", "committed");
    if (order.fills) tell(second, "fill", "committed");
    tell(second, "commit", "committed");
    tell(first, "commit", "committed");
    end(first, order.first);
    if (order.between) tell(second, "commit", "committed");
    end(second, order.second);
  }

  // How many entries there are, and what the check finds, in one sentence.
  [[nodiscard]] std::string look() const {
    auto store = open_store(path, {.create = false});
    if (!store) return store.error().message;
    std::size_t entries = 0;
    for (const char* name : {"first", "second"}) {
      const auto log = (*store)->log().read(SessionId::parse(name).value(), {});
      entries += log ? log->size() : 0;
    }
    const auto report = (*store)->upkeep().check().value();
    return fmt::format("{} entries, {}", entries,
                       report.is_sound() ? "sound" : report.damage[0].what);
  }

  [[nodiscard]] static std::string all_of(const Order& order) {
    return fmt::format("{} entries, sound", 3 + (order.fills ? 8 : 0) + (order.between ? 1 : 0));
  }

  const TempFolder folder = TempFolder::in_memory();
  const std::string path = folder.file("store.db");
};

TEST_P(Closing, LosesNothingAndMissesNothing) {
  run(GetParam());
  EXPECT_EQ(look(), all_of(GetParam()));
}

TEST_P(Closing, AWalDeletedAfterwardsIsNamedExactlyIfItHeldSomething) {
  run(GetParam());
  std::filesystem::remove(path + "-wal");
  const std::string found = look();
  if (found == all_of(GetParam())) {
    EXPECT_FALSE(GetParam().ends_with_a_kill());
  } else {
    EXPECT_TRUE(GetParam().ends_with_a_kill());
    EXPECT_NE(found.find("the WAL lacks commits"), std::string::npos) << found;
  }
}

std::vector<Order> orders() {
  std::vector<Order> all;
  for (const End first : {End::closed, End::killed}) {
    for (const End second : {End::closed, End::killed}) {
      for (const bool fills : {false, true}) {
        // Closing writes back what there is: without a commit in between a kill leaves nothing.
        const bool leaves_nothing = first == End::closed && second == End::killed;
        if (!leaves_nothing) {
          all.push_back({.first = first, .second = second, .fills = fills, .between = false});
        }
        all.push_back({.first = first, .second = second, .fills = fills, .between = true});
      }
    }
  }
  return all;
}

std::string name_of_order(const testing::TestParamInfo<Order>& info) {
  return testing::PrintToString(info.param);
}

INSTANTIATE_TEST_SUITE_P(InAnyOrder, Closing, testing::ValuesIn(orders()), name_of_order);

}  // namespace
}  // namespace perdure
