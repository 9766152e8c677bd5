// Erasing while another process moves pages: between a look at all pages and the
// overwriting of what it found, a page may have gone elsewhere.
//
// The other process is a second store object here, which acts when a look ends: just when
// a connection for reading gives its snapshot back.

#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <iterator>
#include <string>

#include "doubles/must.hpp"
#include "doubles/temp_folder.hpp"
#include "doubles/vfs_shim.hpp"
#include "perdure/core/id.hpp"
#include "perdure/store/store.hpp"
#include "store/api/lookup.hpp"
#include "store/sqlite/sqlite_store.hpp"

namespace perdure {
namespace {

/// Says when a read ended. The first file it opens belongs to the writer, and is left out.
class ReadEnds final : public VfsShim {
 public:
  ReadEnds() : VfsShim("read ends") {}

  std::function<void()> then;

 private:
  int open(File& file, int* out_flags) override {
    if (writer_ == nullptr && (file.flags & SQLITE_OPEN_MAIN_DB) != 0) writer_ = &file;
    return VfsShim::open(file, out_flags);
  }

  int shm_lock(File& file, int offset, int count, int flags) override {
    const int code = VfsShim::shm_lock(file, offset, count, flags);
    constexpr int first_read_lock = 3;
    constexpr int read_ends = SQLITE_SHM_UNLOCK | SQLITE_SHM_SHARED;
    if (&file != writer_ && offset >= first_read_lock && flags == read_ends && then) then();
    return code;
  }

  const File* writer_ = nullptr;
};

class ErasedMeanwhile : public testing::Test {
 protected:
  ErasedMeanwhile() { must(store->ownership().enroll({.id = worker, .host = "here", .pid = 1})); }

  Lease session(const std::string& name) {
    const auto id = must(SessionId::parse(name));
    must(store->sessions().create({.id = id}));
    return must(store->ownership().acquire(id, worker));
  }

  void say(const Lease& lease, const std::string& text, std::vector<MessageId> consumed = {}) {
    Batch batch;
    batch.id = mint<BatchTag>(random_ids());
    batch.expected_head = must(store->sessions().read(lease.session)).head;
    batch.entries.push_back({.channel = "transcript",
                             .kind = "message",
                             .fold = Fold::append,
                             .body = Body::from_bytes(text),
                             .tally = {},
                             .at = {}});
    batch.consumed = std::move(consumed);
    batch.sync = Sync::later;
    must(store->commit(lease, batch));
  }

  /// A session whose odd entries are secrets. They came as messages, and what is left of these
  /// lies behind the even entries, at the end of the file, with room for them at its front.
  Lease keep_secrets() {
    for (int room = 0; room < rooms; ++room) {
      const Lease taken = session(fmt::format("room {}", room));
      for (int i = 0; i < 20; ++i) say(taken, std::string(6'000, 'x'));
      must(store->ownership().release(taken));
    }
    const Lease lease = session("session");
    for (const Position position : secrets) {
      const std::string text = fmt::format("{:x>9000}", "<secret of nobody>");
      const auto message = must(MessageId::parse(fmt::format("m{}", position)));
      must(store->inbox().post({lease.session, message, "note", Body::from_bytes(text)}));
      say(lease, text, {message});
      say(lease, std::string(8'300, 'x'));
    }
    return lease;
  }

  /// The pages at the end of the file go where the last room was.
  void move_pages() {
    if (rooms == 0) return;
    must(other->upkeep().remove(must(SessionId::parse(fmt::format("room {}", --rooms)))));
    must(other->upkeep().vacuum());
  }

  bool is_in_the_file(const std::string& text) const {
    std::ifstream stream(path(), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
    return bytes.contains(text);
  }

  std::string path() const { return folder.file("store.db"); }

  int rooms = 8;
  const std::vector<Position> secrets{1, 3, 5, 7, 9, 11};
  TempFolder folder;
  ReadEnds reads;
  std::unique_ptr<Store> store = must(sqlite::open_sqlite({.path = path(), .vfs = reads.name()}));
  std::unique_ptr<Store> other = must(sqlite::open_sqlite({.path = path()}));
  WorkerId worker = mint<WorkerTag>(random_ids());
};

TEST_F(ErasedMeanwhile, PagesThatMovedAreLookedForAgain) {
  const Lease lease = keep_secrets();
  int reads_ended = 0;
  reads.then = [&] {
    // The first read finds the entries, the second looks at all pages.
    if (++reads_ended == 2) move_pages();
  };

  must(store->upkeep().erase(lease.session, secrets));
  reads.then = {};

  EXPECT_GT(reads_ended, 2);
  EXPECT_FALSE(is_in_the_file("<secret of nobody>"));
}

TEST_F(ErasedMeanwhile, ItEndsAlsoWhenOthersNeverStop) {
  const Lease lease = keep_secrets();
  int reads_ended = 0;
  reads.then = [&] {
    if (++reads_ended > 1) move_pages();
  };

  const auto erased = store->upkeep().erase(lease.session, secrets);
  reads.then = {};

  ASSERT_TRUE(erased) << erased.error().message;
  EXPECT_FALSE(is_in_the_file("<secret of nobody>"));
  EXPECT_GT(rooms, 0) << "there was an end to it";
  EXPECT_TRUE(must(store->upkeep().check()).is_sound());
}

}  // namespace
}  // namespace perdure
