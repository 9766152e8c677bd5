// A file that is not what was exported is refused before anything is written, whatever happened
// to it; and one that somebody made up, sums and all, does no harm to the store.

#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <iterator>
#include <memory>
#include <string>

#include "copy/household.hpp"
#include "doubles/fake_clock.hpp"
#include "doubles/false_store.hpp"
#include "doubles/must.hpp"
#include "doubles/temp_folder.hpp"
#include "perdure/store/store.hpp"
#include "store/api/bundle.hpp"
#include "store/api/transfer.hpp"

namespace perdure {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

FalseStore::Change on_entry(const std::function<void(Entry&)>& change) {
  return [change](Fact& fact) {
    if (auto* entry = std::get_if<Entry>(&fact)) change(*entry);
  };
}

FalseStore::Change on_every_row(const std::function<void(SessionFact::Row&)>& change) {
  return [change](Fact& fact) {
    auto* session = std::get_if<SessionFact>(&fact);
    if (session != nullptr && session->row) change(*session->row);
  };
}

class DamagedBundle : public testing::Test {
 protected:
  DamagedBundle() { furnish(*from, clock, Size::small); }

  std::string exported() {
    must(export_sessions(*from, folder.file("good")));
    std::ifstream file(folder.file("good"), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  /// What an import of these bytes says.
  Result<BundleReport> import(const std::string& bytes) {
    std::ofstream(path, std::ios::binary).write(bytes.data(), std::ssize(bytes));
    return import_bundle(*to, path);
  }

  void expect_untouched() {
    EXPECT_THAT(must(to->sessions().list({})).sessions, IsEmpty());
    EXPECT_EQ(must(to->transfer().read({.owners = {}, .arrival = {.from = "bundle"}}, {})).attempt,
              0U);
  }

  /// Of a bundle that was made with facts such as nobody has.
  Result<BundleReport> import_false(const FalseStore::Change& change) {
    FalseStore liar(*from);
    liar.on_read(change);
    const std::string false_path = folder.file(fmt::format("false {}", ++lies));
    must(export_sessions(liar, false_path, {.with_damage = true}));
    return import_bundle(*to, false_path);
  }

  const TempFolder folder = TempFolder::in_memory();
  const std::string path = folder.file("bad");
  FakeClock clock;
  const std::unique_ptr<Store> from = must(open_store("memory:", {.clock = &clock}));
  const std::unique_ptr<Store> to = must(open_store("memory:", {.clock = &clock}));
  int lies = 0;
};

TEST_F(DamagedBundle, IsRefusedWhicheverByteIsChanged) {
  const std::string good = exported();
  const std::size_t step = good.size() / 300;
  ASSERT_GT(good.size(), 5000U);
  for (std::size_t at = 0; at < good.size(); at += at < 200 ? 1 : step) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x10);
    const auto refused = import(bad);
    ASSERT_FALSE(refused) << at;
    const ErrorCode expected = at < 16   ? ErrorCode::invalid_argument
                               : at < 24 ? ErrorCode::unsupported
                                         : ErrorCode::corrupted;
    ASSERT_EQ(refused.error().code, expected) << at;
  }
  expect_untouched();
  EXPECT_TRUE(import(good));
}

TEST_F(DamagedBundle, IsRefusedWhereverItIsCut) {
  const std::string good = exported();
  const std::size_t step = good.size() / 300;
  for (std::size_t size = 0; size < good.size(); size += size < 200 ? 1 : step) {
    const auto refused = import(good.substr(0, size));
    ASSERT_FALSE(refused) << size;
    ASSERT_EQ(refused.error().code, size < 24 ? ErrorCode::invalid_argument : ErrorCode::corrupted)
        << size;
  }
  const auto longer = import(good + "x");
  ASSERT_FALSE(longer);
  EXPECT_EQ(longer.error().code, ErrorCode::corrupted);
  expect_untouched();
}

TEST_F(DamagedBundle, SaysWhatIsWrongAndWhatToDo) {
  std::string bad = exported();
  bad[bad.size() / 2] ^= 1;
  EXPECT_THAT(import(bad).error().message,
              testing::AllOf(HasSubstr(path), HasSubstr("at byte"), HasSubstr("export it again")));
  EXPECT_THAT(import(std::string(100, 'x')).error().message, HasSubstr("is not a bundle"));
  EXPECT_EQ(import_bundle(*to, folder.file("nothing")).error().code, ErrorCode::not_found);
  EXPECT_EQ(import_bundle(*to, folder.path().string()).error().code, ErrorCode::unavailable);
  expect_untouched();
}

// One that claims to be larger than all memory.
TEST_F(DamagedBundle, BelievesNoLength) {
  std::string bad = exported();
  for (std::size_t i = 32; i < 40; ++i) bad[i] = '\x7F';
  EXPECT_EQ(import(bad).error().code, ErrorCode::corrupted);
}

// Before the store is touched: a position out of bounds would be another segment's place there.
TEST_F(DamagedBundle, MadeUpNamesAndNumbersAreRefused) {
  const auto refused = [&](const FalseStore::Change& change) {
    const auto imported = import_false(change);
    expect_untouched();
    return imported ? "taken" : std::string(to_string(imported.error().code));
  };
  EXPECT_EQ(refused(on_entry([](Entry& e) { e.channel = "a\nb"; })), "corrupted");
  EXPECT_EQ(refused(on_entry([](Entry& e) { e.position += Position{1} << 33U; })), "corrupted");
  EXPECT_EQ(refused(on_every_row([](SessionFact::Row& r) { r.summary.title = "\x1b[2J"; })),
            "corrupted");
  EXPECT_EQ(refused(on_every_row([](SessionFact::Row& r) { r.summary.id = {}; })), "corrupted");
  EXPECT_EQ(refused(on_every_row([](SessionFact::Row& r) { r.fence = ~Fence{0} >> 1U; })),
            "corrupted");
}

TEST_F(DamagedBundle, FactsThatDoNotBelongTogetherAreRefused) {
  const auto refused = [&](const FalseStore::Change& change) {
    const auto imported = import_false(change);
    EXPECT_THAT(must(to->sessions().list({})).sessions, IsEmpty());
    EXPECT_TRUE(must(to->upkeep().check()).is_sound());
    return imported ? "taken" : std::string(to_string(imported.error().code));
  };
  EXPECT_EQ(refused(on_entry([](Entry& e) { e.hash[0] ^= 1; })), "corrupted");
  EXPECT_EQ(refused(on_entry([](Entry& e) { e.segment += 1000; })), "corrupted");
  EXPECT_EQ(refused(on_every_row([](SessionFact::Row& r) { r.chain[3] ^= 1; })), "corrupted");
}

TEST_F(DamagedBundle, ASessionThatWasDamagedBeforeIsTakenAlongOnlyIfAskedFor) {
  FalseStore damaged(*from);
  damaged.on_read([](Fact& fact) {
    auto* entry = std::get_if<Entry>(&fact);
    if (entry != nullptr && entry->channel == "plan") {
      entry->body = Body::from_text("\"other\"");
      entry->condition = Condition::damaged;
    }
  });
  const auto refused = export_sessions(damaged, path);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::corrupted);
  EXPECT_FALSE(std::filesystem::exists(path));

  must(export_sessions(damaged, path, {.with_damage = true}));
  EXPECT_EQ(import_bundle(*to, path).error().code, ErrorCode::corrupted);
  EXPECT_THAT(must(to->sessions().list({})).sessions, IsEmpty());
  EXPECT_TRUE(import_bundle(*to, path, {.with_damage = true}));
}

}  // namespace
}  // namespace perdure
