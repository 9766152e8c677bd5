// What a checkpointer syncs and writes, counted.

#include <cstddef>
#include <cstdint>
#include <gtest/gtest.h>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "book/book_session.hpp"
#include "counted/counted_store.hpp"
#include "doubles/must.hpp"
#include "perdure/adapters/checkpointer.hpp"
#include "perdure/core/id.hpp"
#include "perdure/runtime/tool.hpp"

namespace perdure {
namespace {

class BookSyncs : public testing::Test {
 protected:
  BookSyncs() { must(book.start_session(session)); }

  /// Since it was asked last.
  std::uint64_t syncs() { return counted.syncs() - std::exchange(seen_, counted.syncs()); }
  std::uint64_t save(std::size_t turns) {
    std::vector<std::string> messages;
    for (std::size_t i = 0; i < turns; ++i)
      messages.push_back(said("user", std::string(4000, 'x')));
    const auto before = counted.wal().bytes_written;
    must(book.save_checkpoint(session, {.transcript = list(messages)}));
    return counted.wal().bytes_written - before;
  }

  CountedStore counted;
  Checkpointer book{counted.store()};
  const SessionId session = must(SessionId::parse("session-alpha"));

 private:
  std::uint64_t seen_ = 0;
};

TEST_F(BookSyncs, ACallSyncsOnceBeforeItRunsAndOnceAfter) {
  (void)syncs();
  const auto call =
      std::get<Checkpointer::MayRun>(must(book.record_tool_call_issued(session, email("ann"))));
  EXPECT_EQ(syncs(), 1U);
  must(book.record_tool_call_result(session, call.call, Succeeded{"sent"}));
  EXPECT_EQ(syncs(), 1U);
  must(book.record_tool_call_issued(session, email("ann")));
  EXPECT_EQ(syncs(), 0U) << "a replay writes nothing";
}

TEST_F(BookSyncs, AVersionSyncsOnceAndWritesWhatIsNew) {
  save(1);
  (void)syncs();
  const std::uint64_t early = save(2);
  EXPECT_EQ(syncs(), 1U);
  for (std::size_t turns = 3; turns < 200; ++turns) save(turns);
  const std::uint64_t late = save(200);
  EXPECT_LT(late, 2 * early + 65'536) << "the whole transcript has 800 KB";
}

}  // namespace
}  // namespace perdure
