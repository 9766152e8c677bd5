// bundle.hpp made executable: out of every backend, into every backend.

#include "store/api/bundle.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <vector>

#include "contract/backends.hpp"
#include "copy/bundle_fixture.hpp"
#include "copy/household.hpp"
#include "doubles/difference.hpp"
#include "doubles/must.hpp"
#include "store/api/limits.hpp"

namespace perdure {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::vector<Route> every_way() {
  std::vector<Route> ways;
  for (const Backend& from : every_backend()) {
    for (const Backend& to : every_backend()) ways.push_back({from, to});
  }
  return ways;
}

/// As it must come out of a bundle.
SessionSummary imported(SessionSummary row, const SessionSummary& is) {
  if (row.status == Status::active || row.status == Status::waiting) {
    row.status = Status::paused;
    row.wake_at.reset();
    row.wait_reason = is.wait_reason;
    EXPECT_THAT(row.wait_reason, HasSubstr("imported from a bundle"));
  }
  if (row.metadata != "{}") row.metadata = R"({"imported":)" + row.metadata + "}";
  row.restored = row.status == Status::paused;
  row.holder = is.holder;
  return row;
}

INSTANTIATE_TEST_SUITE_P(EveryWay, BundleTest, testing::ValuesIn(every_way()),
                         [](const testing::TestParamInfo<Route>& tested) {
                           return testing::PrintToString(tested.param);
                         });

TEST_P(BundleTest, EverythingIsThereAsItWas) {
  furnish(*from, clock, Size::large);
  const std::string before = portrait(*from);
  const auto source = rows(*from);

  const BundleReport written = must(export_sessions(*from, path));
  const BundleReport read = must(import_bundle(*to, path, {.accept_claims = true}));

  EXPECT_EQ(written, read);
  EXPECT_EQ(written, must(check_bundle(path)));
  EXPECT_THAT(written.sessions, SizeIs(10));
  EXPECT_EQ(written.claims, 2U);
  EXPECT_EQ(written.blobs, 2U);
  EXPECT_EQ(written.bytes, std::filesystem::file_size(path));
  EXPECT_EQ(difference(but_for_rows(before), but_for_rows(portrait(*to))), "");
  const auto target = rows(*to);
  ASSERT_EQ(target.size(), source.size());
  for (std::size_t i = 0; i < source.size(); ++i) {
    EXPECT_EQ(target[i], imported(source[i], target[i])) << source[i].id.text();
  }
  expect_sound(*to);
}

TEST_P(BundleTest, TheSourceIsNotChangedAndGoesOn) {
  furnish(*from, clock, Size::small);
  const auto before = rows(*from);
  const std::string portrayed = portrait(*from);

  must(export_sessions(*from, path));

  EXPECT_EQ(rows(*from), before) << "down to the revision";
  EXPECT_EQ(portrait(*from), portrayed);
  EXPECT_THAT(runnable(*from), SizeIs(9));
  say(*from, named("main"));
  expect_sound(*from);
}

// Nothing that comes out of a bundle is due, whatever it waited for.
TEST_P(BundleTest, NothingGoesOnByItself) {
  furnish(*from, clock, Size::small);
  must(export_sessions(*from, path));
  must(import_bundle(*to, path));
  clock.advance(std::chrono::hours(1000));

  EXPECT_THAT(must(to->sessions().due(100)), IsEmpty());
  for (const SessionSummary& row : rows(*to)) {
    EXPECT_NE(row.status, Status::active) << row.id.text();
    EXPECT_EQ(row.needs_attention(), row.status == Status::paused || row.attention > 0);
  }
}

// Programs obey metadata: whose server is asked, what is written where.
TEST_P(BundleTest, MetadataIsSetAside) {
  const std::string nothing = R"({"imported":{}})";
  const std::string large = R"({"agent":")" + std::string(metadata_bytes_max - 12, 'x') + R"("})";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"({"agent": {"file": "x"}})", R"({"imported":{"agent": {"file": "x"}}})"},
      {R"({"imported":{"agent":1}})", R"({"imported":{"agent":1}})"},
      {R"({"imported":{},"agent":1})", R"({"imported":{"imported":{},"agent":1}})"},
      {large, nothing},
      {"{}", "{}"}};
  for (std::size_t i = 0; i < cases.size(); ++i) {
    must(from->sessions().create(
        {.id = named(std::to_string(i)), .annotation = {.metadata = cases[i].first}}));
  }
  must(export_sessions(*from, path));

  must(import_bundle(*to, path));

  for (std::size_t i = 0; i < cases.size(); ++i) {
    EXPECT_EQ(must(to->sessions().read(named(std::to_string(i)))).metadata, cases[i].second);
  }
  expect_sound(*to);
}

TEST_P(BundleTest, SomebodyMayLetItGoOn) {
  furnish(*from, clock, Size::small);
  must(export_sessions(*from, path));
  must(import_bundle(*to, path));
  const SessionSummary before = must(to->sessions().read(named("main")));

  const Lease lease = own(*to, named("main"));

  EXPECT_GT(lease.fence, Fence{1} << 32U);
  const auto repeated = to->commit(lease, {.id = must(BatchId::parse("b1")), .expected_head = 999});
  EXPECT_EQ(must(repeated).first, 1U) << "receipts came along";
  EXPECT_EQ(say(*to, named("main")).first, before.next);
  must(to->upkeep().remove(named("heir")));
  must(to->upkeep().prune(named("trimmed"), {.last = 1}));
  expect_sound(*to);
}

TEST_P(BundleTest, TheSameSessionsAreTheSameFile) {
  furnish(*from, clock, Size::small);

  const Digest first = must(export_sessions(*from, path)).digest;
  EXPECT_EQ(must(export_sessions(*from, folder.file("again"))).digest, first);
  say(*from, named("main"));
  EXPECT_NE(must(export_sessions(*from, folder.file("later"))).digest, first);
}

TEST_P(BundleTest, OneFamilyAlone) {
  furnish(*from, clock, Size::small);

  const auto split = export_sessions(*from, path, {.sessions = {named("main")}});
  ASSERT_FALSE(split);
  EXPECT_EQ(split.error().code, ErrorCode::conflict);
  EXPECT_EQ(split.error().subject, "child");
  EXPECT_FALSE(std::filesystem::exists(path));

  const auto report =
      must(export_sessions(*from, path, {.sessions = {named("fork")}, .with_relatives = true}));
  EXPECT_THAT(report.sessions, SizeIs(4));
  EXPECT_THAT(must(import_bundle(*to, path)).sessions, SizeIs(4));
  EXPECT_EQ(must(export_sessions(*to, folder.file("back"), {.sessions = report.sessions})).entries,
            report.entries);
  expect_sound(*to);
}

}  // namespace
}  // namespace perdure
