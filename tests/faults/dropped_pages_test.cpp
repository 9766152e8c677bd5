// A failed sync as some kernels do it: the pages that could not be written are dropped, and
// reads see the disk's old bytes again. What was to be synced later is lost with them; what
// was synced must not be, whoever still has the store open.

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <string>

#include "crash/stored_file.hpp"
#include "doubles/temp_folder.hpp"
#include "doubles/vfs_shim.hpp"
#include "faults/faulty_store.hpp"
#include "perdure/store/store.hpp"
#include "store/sqlite/sqlite_store.hpp"

namespace perdure {
namespace {

class DroppingVfs final : public VfsShim {
 public:
  DroppingVfs() : VfsShim("dropping") {}

  /// The next sync of a WAL fails, and takes what it could not write with it.
  void drop_next() { drops_ = true; }

 private:
  int sync(File& file, int flags) override {
    if ((file.flags & SQLITE_OPEN_WAL) == 0) return VfsShim::sync(file, flags);
    std::string& synced = synced_[file.path];
    if (!drops_) {
      synced = contents(file);
      return VfsShim::sync(file, flags);
    }
    drops_ = false;
    // The file keeps its size: where nothing was synced there are zeros.
    std::string dropped = synced;
    dropped.resize(contents(file).size());
    put(file, dropped);
    return SQLITE_IOERR_FSYNC;
  }

  // SQLite's own VFS writes no more than 128 KiB at once.
  void put(File& file, const std::string& bytes) {
    constexpr std::size_t chunk = 65536;
    for (std::size_t from = 0; from < bytes.size(); from += chunk) {
      const auto size = static_cast<int>(std::min(chunk, bytes.size() - from));
      const int code = write(
          file,
          {.data = bytes.data() + from, .size = size, .offset = static_cast<sqlite3_int64>(from)});
      ASSERT_EQ(code, SQLITE_OK);
    }
  }

  std::string contents(File& file) {
    sqlite3_int64 size = 0;
    file_size(file, &size);
    std::string bytes(static_cast<std::size_t>(size), '\0');
    read(file, {.data = bytes.data(), .size = static_cast<int>(size), .offset = 0});
    return bytes;
  }

  bool drops_ = false;
  std::map<std::string, std::string> synced_;
};

class DroppedPages : public testing::Test {
 protected:
  DroppedPages() {
    EXPECT_TRUE(take_turn(1, Sync::now));
    EXPECT_TRUE(take_turn(2, Sync::later));
    vfs.drop_next();
    const auto unknown = take_turn(3, Sync::now);
    EXPECT_FALSE(unknown);
  }

  Result<std::unique_ptr<Store>> open() const {
    return sqlite::open_sqlite({.path = path, .vfs = vfs.name()});
  }
  Lease own(Store& opened, const char* name) const {
    const auto worker = WorkerId::parse(name).value();
    EXPECT_TRUE(opened.ownership().enroll({.id = worker, .host = "here", .pid = 1}));
    (void)opened.sessions().create({.id = session});
    return opened.ownership().acquire(session, worker).value();
  }
  // The second makes the file grow, which changes its first page.
  static Batch turn(Version number) {
    return FaultyStore::turn("s", number, number == 2 ? 40'000 : 100);
  }
  Result<Receipt> take_turn(Version number, Sync sync) {
    Batch batch = turn(number);
    batch.sync = sync;
    return store->commit(lease, batch);
  }
  // The first turn is there and whole; of the others, a prefix.
  void expect_prefix(Store& opened) const {
    const auto entries = opened.log().read(session, {});
    ASSERT_TRUE(entries) << entries.error().message;
    ASSERT_GE(entries->size(), 1U);
    for (std::size_t i = 0; i < entries->size(); ++i) {
      EXPECT_EQ((*entries)[i].body, turn(i + 1).entries[0].body) << i;
    }
  }

  const TempFolder folder = TempFolder::in_memory();
  const std::string path = folder.file("store.db");
  const SessionId session = SessionId::parse("s").value();
  DroppingVfs vfs;
  std::unique_ptr<Store> store = open().value();
  const Lease lease = own(*store, "first");
};

TEST_F(DroppedPages, AStoreOpenedAnewHoldsAPrefix) {
  store.reset();
  {
    auto opened = open();
    ASSERT_TRUE(opened) << opened.error().message;
    expect_prefix(**opened);
  }
  EXPECT_EQ(find_damage(path), "");
}

TEST_F(DroppedPages, SoDoesOneOpenedBesideTheClosedOne) {
  {
    auto opened = open();
    ASSERT_TRUE(opened) << opened.error().message;
    expect_prefix(**opened);
    EXPECT_TRUE((*opened)->sync());
  }
  store.reset();
  EXPECT_EQ(find_damage(path), "");
}

}  // namespace
}  // namespace perdure
