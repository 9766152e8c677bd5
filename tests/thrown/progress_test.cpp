// Long work of a store, and a progress observer that throws: at its first step, at a later one, at its
// last. It fails and names the observer, and the same work is done by the next call.

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "contract/backends.hpp"
#include "doubles/must.hpp"
#include "doubles/temp_folder.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/store.hpp"
#include "perdure/store/upkeep.hpp"
#include "store/api/bundle.hpp"
#include "thrown/throwing.hpp"

namespace perdure {
namespace {

class ThrowingProgress : public testing::TestWithParam<Backend> {
 protected:
  using Work = std::function<Result<void>(const Progress&)>;

  /// Throws at the nth step, for each n that the work comes to (on a server for three of them), each
  /// in a store of its own.
  void try_every_step(const std::function<Work()>& make) {
    int steps = 0;
    {
      const Work work = make();
      must(work([&](const Step&) { return ++steps > 0; }));
    }
    ASSERT_GT(steps, 0);
    const int stride = GetParam().home == Home::schema ? std::max(1, steps / 2) : 1;
    Thrown what = Thrown::number;
    for (int at = 1; at <= steps; at += stride) {
      SCOPED_TRACE(fmt::format("step {}", at));
      what = what == Thrown::number ? Thrown::exception : Thrown::number;
      const Work work = make();
      int step = 0;

      const auto ended = work([&](const Step&) {
        if (++step >= at) throw_it(what);
        return true;
      });

      ASSERT_FALSE(ended);
      EXPECT_EQ(ended.error().code, ErrorCode::unavailable);
      EXPECT_EQ(ended.error().message, threw("the progress observer", what));
      EXPECT_EQ(step, at) << "it is not asked again";
      EXPECT_TRUE(must(store->upkeep().check()).damage.empty());
    }
  }

  /// A new store, with a session of two versions.
  void fill() {
    store.reset();
    home = std::make_unique<StorePlace>(GetParam(), memory_folder());
    store = must(open_store(home->location()));
    const auto runtime = must(Runtime::start(*store));
    Session session = must(runtime->create());
    id = session.id();
    for (const char* said : {"one", "two"}) {
      must(session.append(user_says(said)));
      must(session.checkpoint({.reason = said}));
    }
    must(session.set_status({.status = Status::completed}));
  }

  template <class Call>
  [[nodiscard]] std::function<Work()> of(Call call) {
    return [this, call]() -> Work {
      fill();
      return [call](const Progress& progress) -> Result<void> {
        auto done = call(progress);
        if (!done) return forward(done);
        return {};
      };
    };
  }

  std::unique_ptr<StorePlace> home;
  std::unique_ptr<Store> store;
  SessionId id;
  TempFolder folder = TempFolder::in_memory();
};

TEST_P(ThrowingProgress, OfACheck) {
  try_every_step(of([this](const Progress& told) { return store->upkeep().check(told); }));
}

TEST_P(ThrowingProgress, OfAPrune) {
  try_every_step(
      of([this](const Progress& told) { return store->upkeep().prune(id, {.last = 1}, told); }));
}

TEST_P(ThrowingProgress, OfARemoval) {
  try_every_step(of([this](const Progress& told) { return store->upkeep().remove(id, told); }));
}

TEST_P(ThrowingProgress, OfACollectionAndAVacuum) {
  try_every_step(of([this](const Progress& told) {
    return store->upkeep().collect_blobs(std::chrono::hours(1), told);
  }));
  try_every_step(of([this](const Progress& told) { return store->upkeep().vacuum(told); }));
}

TEST_P(ThrowingProgress, OfAnExportAndALookAtIt) {
  int number = 0;
  const auto next = [&] { return folder.file(fmt::format("{}.bundle", ++number)); };
  try_every_step(of([&](const Progress& told) {
    return export_sessions(*store, next(), {.sessions = {id}}, told);
  }));
  fill();
  const std::string whole = next();
  must(export_sessions(*store, whole, {.sessions = {id}}));
  try_every_step(of([&](const Progress& told) { return check_bundle(whole, told); }));
}

TEST_P(ThrowingProgress, OfAnImportWhichIsThenDone) {
  fill();
  const std::string whole = folder.file("whole.bundle");
  const SessionId of_it = id;
  must(export_sessions(*store, whole, {.sessions = {id}}));
  try_every_step(of([&](const Progress& told) -> Result<BundleReport> {
    auto imported = import_bundle(*store, whole, {}, told);
    if (!imported) must(import_bundle(*store, whole));
    must(store->sessions().read(of_it));
    return imported;
  }));
}

TEST_P(ThrowingProgress, OfACopyWhichIsThenDone) {
  try_every_step(of([this](const Progress& told) -> Result<MoveReport> {
    const auto to = must(open_store("memory:"));
    auto copied = move_sessions(*store, *to, {}, told);
    must(move_sessions(*store, *to));
    must(to->sessions().read(id));
    return copied;
  }));
}

INSTANTIATE_TEST_SUITE_P(Every, ThrowingProgress, testing::ValuesIn(every_backend()),
                         [](const auto& named) { return named.param.name; });

class ThrowingFileProgress : public ThrowingProgress {};

TEST_P(ThrowingFileProgress, OfABackupWhichIsThenMade) {
  int number = 0;
  try_every_step(of([&](const Progress& told) {
    const std::string path = folder.file(fmt::format("{}.db", ++number));
    auto made = store->upkeep().backup(path, told);
    if (!made) must(store->upkeep().backup(path));
    return made;
  }));
}

TEST_P(ThrowingFileProgress, OfASalvageWhichIsThenMade) {
  int number = 0;
  try_every_step(of([&](const Progress& told) {
    store.reset();
    const std::string path = folder.file(fmt::format("{}.db", ++number));
    auto made = salvage_store(home->file(), path, told);
    if (!made) must(salvage_store(home->file(), path));
    store = must(open_store(home->location()));
    return made;
  }));
}

INSTANTIATE_TEST_SUITE_P(Every, ThrowingFileProgress, testing::ValuesIn(file_backends()),
                         [](const auto& named) { return named.param.name; });

}  // namespace
}  // namespace perdure
