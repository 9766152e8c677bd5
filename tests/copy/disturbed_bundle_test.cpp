// Exports and imports that are refused, stopped or disturbed: what they leave, and what they say.

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <iterator>
#include <string>
#include <sys/resource.h>
#include <vector>

#include "copy/bundle_fixture.hpp"
#include "copy/household.hpp"
#include "doubles/difference.hpp"
#include "doubles/must.hpp"
#include "doubles/part_files.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/upkeep.hpp"
#include "store/api/bundle.hpp"
#include "store/api/transfer.hpp"

namespace perdure {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

TEST_P(BundleTest, WhatCannotBeExportedLeavesNoFile) {
  furnish(*from, clock, Size::small);
  own(*from, named("heir"));

  EXPECT_EQ(export_sessions(*from, path).error().code, ErrorCode::lease_held);
  EXPECT_EQ(export_sessions(*from, path, {.sessions = {named("nobody")}}).error().code,
            ErrorCode::not_found);
  must(from->ownership().retire(worker));
  EXPECT_FALSE(must(export_sessions(*from, path, {}, stop_at(3))).is_complete);
  EXPECT_EQ(export_sessions(*from, folder.file("no/such/folder")).error().code,
            ErrorCode::unavailable);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  must(move_sessions(*from, *to, {.place = "elsewhere"}));
  const auto moved = export_sessions(*from, path, {.sessions = {named("trimmed")}});
  EXPECT_EQ(moved.error().code, ErrorCode::conflict);
  EXPECT_EQ(moved.error().subject, "elsewhere");
  must(export_sessions(*to, path, {.sessions = {named("trimmed")}}));
  EXPECT_EQ(export_sessions(*to, path).error().code, ErrorCode::already_exists);
}

/// While it lives no file of this process grows beyond so many bytes, as on a full disk.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{.rlim_cur = bytes, .rlim_max = before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &small);
  }
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int) = nullptr;
};

// What went wrong is said, not that somebody wrote: nobody did.
TEST_P(BundleTest, AFullDiskIsNamedWhereverItIsFull) {
  furnish(*from, clock, Size::small);
  const std::uint64_t whole = must(export_sessions(*from, path)).bytes;
  for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{100}, whole / 2, whole - 1}) {
    const FullDisk full(bytes);
    const auto report = export_sessions(*from, folder.file("second"));
    ASSERT_FALSE(report) << bytes;
    EXPECT_EQ(report.error().code, ErrorCode::unavailable) << bytes << report.error().message;
    EXPECT_THAT(report.error().message, HasSubstr("second.part")) << bytes;
    EXPECT_FALSE(has_parts(folder.file("second")));
  }
}

TEST_P(BundleTest, AFileThatIsCalledLikeAPartOfItStaysWhatItIs) {
  furnish(*from, clock, Size::small);
  std::ofstream(folder.file("letter")) << "dear";
  std::filesystem::create_symlink("letter", path + ".part");

  must(export_sessions(*from, path));

  std::ifstream letter(path + ".part");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(letter), {}), "dear");
  EXPECT_EQ(must(check_bundle(path)).sessions.size(), rows(*from).size());
}

// Whoever writes in the middle makes it begin again, so that all is of one moment.
TEST_P(BundleTest, WhatChangesMeanwhileIsReadAnew) {
  furnish(*from, clock, Size::small);
  int steps = 0;
  const auto report = must(export_sessions(*from, path, {}, [&](const Step&) {
    if (++steps == 6) say(*from, named("trimmed"));
    return true;
  }));

  must(import_bundle(*to, path, {.accept_claims = true}));
  EXPECT_EQ(difference(but_for_rows(portrait(*from)), but_for_rows(portrait(*to))), "");
  expect_sound(*to);
  const auto restless = export_sessions(*from, folder.file("restless"), {}, [&](const Step&) {
    say(*from, named("trimmed"));
    return true;
  });
  ASSERT_FALSE(restless);
  EXPECT_EQ(restless.error().code, ErrorCode::conflict);
  EXPECT_FALSE(std::filesystem::exists(folder.file("restless")));
}

TEST_P(BundleTest, WhatIsPrunedMeanwhileIsReadAnew) {
  furnish(*from, clock, Size::small);
  for (int i = 0; i < 3; ++i) say(*from, named("trimmed"));
  const Lease lease = own(*from, named("trimmed"));
  must(from->commit(lease, {.id = mint<BatchTag>(fresh),
                            .expected_head = must(from->sessions().read(lease.session)).head,
                            .checkpoint = NewCheckpoint{.reason = "turn"}}));
  must(from->ownership().retire(worker));
  int steps = 0;
  must(export_sessions(*from, path, {}, [&](const Step&) {
    if (++steps == 4) must(from->upkeep().prune(named("trimmed"), {.last = 1}));
    return true;
  }));

  must(import_bundle(*to, path, {.accept_claims = true}));
  EXPECT_EQ(difference(but_for_rows(portrait(*from)), but_for_rows(portrait(*to))), "");
  expect_sound(*to);
}

TEST_P(BundleTest, AnIdThatIsInUseLeavesNothing) {
  furnish(*from, clock, Size::small);
  must(export_sessions(*from, path));
  must(to->sessions().create({.id = named("trimmed")}));

  const auto refused = import_bundle(*to, path);

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::already_exists);
  EXPECT_EQ(refused.error().subject, "trimmed");
  EXPECT_THAT(rows(*to), SizeIs(1));
  must(to->upkeep().remove(named("trimmed")));
  expect_untouched();
  must(import_bundle(*to, path));
  EXPECT_EQ(import_bundle(*to, path).error().code, ErrorCode::already_exists);
  expect_sound(*to);
}

TEST_P(BundleTest, AKeyThatIsHeldLeavesNothing) {
  furnish(*from, clock, Size::small);
  must(export_sessions(*from, path));
  const Call held = must(from->ledger().list({.states = {CallState::succeeded}})).at(0);
  must(to->sessions().create({.id = named("rival")}));
  const Lease lease = own(*to, named("rival"));
  must(to->commit(lease, {.id = mint<BatchTag>(fresh),
                          .entries = {{.channel = "c", .kind = "k"}},
                          .calls = {Intend{.call = 1, .args = 1, .tool = "pay", .key = held.key},
                                    Dispatch{.call = 1}}}));

  const auto refused = import_bundle(*to, path, {.accept_claims = true});

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::conflict);
  EXPECT_EQ(refused.error().subject, "rival:1");
  EXPECT_EQ(must(to->transfer().read({.owners = {}, .arrival = {.from = "bundle"}}, {})).attempt,
            0U)
      << "nor is it under way";
  EXPECT_TRUE(to->sessions().create({.id = named("main")})) << "nor is an id taken";
  must(to->upkeep().remove(named("main")));
  EXPECT_THAT(rows(*to), SizeIs(1));
  expect_sound(*to);
}

TEST_P(BundleTest, StoppedItLeavesNothing) {
  furnish(*from, clock, Size::small);
  must(export_sessions(*from, path));
  std::vector<Step> steps;
  int stops = 0;
  for (int step = 1; step < 200; step = step * 2 + 1) {
    if (must(import_bundle(*to, path, {}, stop_at(step))).is_complete) break;
    ++stops;
    expect_untouched();
  }

  EXPECT_GE(stops, 4);
  if (rows(*to).empty()) must(import_bundle(*to, path));
  EXPECT_THAT(rows(*to), SizeIs(9));
}

TEST_P(BundleTest, ItTellsHowFarItHasCome) {
  furnish(*from, clock, Size::small);
  must(export_sessions(*from, path));
  std::vector<Step> steps;
  must(import_bundle(*to, path, {}, [&](const Step& step) {
    steps.push_back(step);
    return true;
  }));

  EXPECT_GT(steps.size(), 10U);
  EXPECT_TRUE(std::ranges::is_sorted(steps, {}, &Step::done));
  EXPECT_TRUE(std::ranges::all_of(steps, [](const Step& s) { return s.done <= s.total; }));
}

// The later one takes its place.
TEST_P(BundleTest, OfTwoImportsTheFirstIsOutdated) {
  furnish(*from, clock, Size::small);
  must(export_sessions(*from, path));
  const std::string other = folder.file("other");
  must(export_sessions(*from, other, {.sessions = {named("trimmed")}}));
  bool is_first = true;

  const auto outdated = import_bundle(*to, path, {}, [&](const Step& step) {
    if (is_first && step.done > step.total / 2) {
      is_first = false;
      must(import_bundle(*to, other));
    }
    return true;
  });

  ASSERT_FALSE(outdated);
  EXPECT_EQ(outdated.error().code, ErrorCode::lease_lost);
  ASSERT_THAT(rows(*to), SizeIs(1));
  EXPECT_EQ(rows(*to)[0].id, named("trimmed"));
  expect_sound(*to);
}

}  // namespace
}  // namespace perdure
