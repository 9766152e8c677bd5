// Money through a power cut: an agent's turn on a disk that remembers, the power cut around every sync and
// at many other moments, and the session taken up after the machine has started again. Whatever the
// disk lost, no request that a model sent a bill for is missing in what is recorded.

#include <cstddef>
#include <cstdint>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "agent/billed_agent.hpp"
#include "crash/scale.hpp"
#include "doubles/fake_clock.hpp"
#include "doubles/must.hpp"
#include "doubles/power_vfs.hpp"
#include "doubles/temp_folder.hpp"
#include "perdure/core/id.hpp"
#include "perdure/store/store.hpp"
#include "power/sweep.hpp"
#include "store/sqlite/sqlite_store.hpp"

namespace perdure {
namespace {

using billed::BilledAgent;
using billed::BilledModel;
using billed::Manner;

struct Turn {
  std::vector<DiskCall> calls{};
  std::size_t begun = 0;  ///< The session is there from this call on.
  billed::Left left{};
};

std::unique_ptr<Store> open(const TempFolder& folder, FakeClock& clock, const std::string& vfs,
                            const std::string& boot) {
  OpenOptions options;
  options.clock = &clock;
  return must(sqlite::open_sqlite(
      {.path = folder.file("store.db"), .open = options, .vfs = vfs, .boot = boot}));
}

Turn record_turn(const Manner& manner) {
  const TempFolder folder = TempFolder::in_memory();
  PowerVfs vfs("power", folder.path().string());
  FakeClock clock;
  Turn turn;
  {
    const auto store = open(folder, clock, vfs.name(), "first");
    BilledModel model(manner);
    model.clock = [&] { return vfs.calls(); };
    BilledAgent agent(*store, model, clock, random_ids());
    turn.left.id = agent.id();
    turn.begun = vfs.calls();
    // A request that is not answered fails the turn; the next run goes on with it.
    const auto first = agent.run("go");
    if (!first || first->stop != TurnStop::completed) agent.finish();
    turn.left.bills = model.bills();
    turn.left.most_reserved = agent.most_reserved();
  }
  turn.calls = vfs.take();
  return turn;
}

class BilledTurns : public testing::TestWithParam<Manner> {
 protected:
  // Of the request that was under way nobody knows; nor whether one that was written ahead was sent.
  static std::string judge(const Turn& turn, std::size_t cut, const TempFolder& disk) {
    FakeClock clock;
    const auto store = open(disk, clock, "", "second");
    billed::Left left = turn.left;
    std::erase_if(left.bills, [&](const billed::Bill& bill) { return bill.moment > cut; });
    const std::int64_t under_way =
        left.bills.empty() ? 0 : left.bills.back().most - left.bills.back().cost;
    const std::int64_t lost = left.most_reserved + under_way;
    return billed::end_turn(*store, clock, GetParam(), std::move(left), lost);
  }
};

TEST_P(BilledTurns, RecordWhatWasBilledWhateverThePowerTook) {
  const Turn turn = record_turn(GetParam());
  std::size_t number = 0;
  const auto look = [&](std::size_t cut, const TempFolder& left, const std::string& where) {
    ++number;
    EXPECT_EQ(judge(turn, cut, left), "") << where;
  };
  const Swept swept = sweep(turn.calls,
                            {.begin = turn.begun,
                             .stride = scale().full ? 1U : 5U,
                             .first = scale().seed,
                             .disks = scale().rounds.value_or(2)},
                            look);
  swept.print(GetParam().name);
  EXPECT_GT(number, 10U);
}

INSTANTIATE_TEST_SUITE_P(Every, BilledTurns, testing::ValuesIn(billed::every_manner()),
                         [](const auto& named) { return named.param.name; });

}  // namespace
}  // namespace perdure
