// A process that is killed while it enrols gives its number back with its transaction; the kernel drops
// its lock of that number when it likes.

#include <cstdint>
#include <gtest/gtest.h>
#include <memory>

#include "doubles/must.hpp"
#include "doubles/temp_folder.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "sqlite/engine/lock_file.hpp"

namespace perdure::sqlite {
namespace {

NewWorker worker() {
  return {.id = mint<WorkerTag>(random_ids()),
          .host = "here",
          .pid = 1,
          .lease_time = Duration(60'000)};
}

TEST(Enrolling, GoesByNumbersThatADyingProcessStillHolds) {
  const TempFolder folder;
  const auto store = must(open_store(folder.file("store.db")));
  const auto session = mint<SessionTag>(random_ids());
  must(store->sessions().create({.id = session}));
  LockFile dying = must(LockFile::open(folder.file("store.db-lock")));
  for (std::int64_t number = 1; number < 9; ++number) EXPECT_TRUE(must(dying.hold_worker(number)));

  const NewWorker one = worker();
  must(store->ownership().enroll(one));
  const NewWorker other = worker();
  must(store->ownership().enroll(other));

  EXPECT_EQ(must(store->ownership().acquire(session, one.id)).worker, one.id);
  EXPECT_EQ(store->ownership().acquire(session, other.id).error().code, ErrorCode::lease_held);
}

TEST(Enrolling, EndsWhereEveryNumberIsHeld) {
  const TempFolder folder;
  const auto store = must(open_store(folder.file("store.db")));
  LockFile other = must(LockFile::open(folder.file("store.db-lock")));
  for (std::int64_t number = 1; number < 1100; ++number)
    static_cast<void>(other.hold_worker(number));
  const auto refused = store->ownership().enroll(worker());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::unavailable);
}

}  // namespace
}  // namespace perdure::sqlite
