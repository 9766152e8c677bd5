// A process killed in the middle of a checkpoint, and the WAL lost after that: pages of many
// moments lie in the main file, and some of what was acknowledged is nowhere. Whatever else is
// said of such a file, the WAL is named.

#include <filesystem>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

#include "doubles/temp_folder.hpp"
#include "doubles/vfs_shim.hpp"
#include "perdure/core/id.hpp"
#include "perdure/store/store.hpp"
#include "store/sqlite/sqlite_store.hpp"

namespace perdure {
namespace {

namespace fs = std::filesystem;

/// Copies the files before every so-manieth page that is written to the main file.
class CopyingVfs final : public VfsShim {
 public:
  explicit CopyingVfs(std::string folder) : VfsShim("copying"), folder_(std::move(folder)) {}

  void begin() { copies_ = true; }
  [[nodiscard]] const std::vector<std::string>& left() const { return left_; }

 private:
  int write(File& file, const WriteSpan& span) override {
    constexpr int stride = 7;
    const bool is_main = (file.flags & SQLITE_OPEN_MAIN_DB) != 0;
    if (is_main && copies_ && writes_++ % stride == 0) copy(file.path);
    return VfsShim::write(file, span);
  }

  void copy(const std::string& path) {
    left_.push_back(fmt::format("{}/left {}.db", folder_, left_.size()));
    for (const char* end : {"", "-wal", "-lock"}) fs::copy_file(path + end, left_.back() + end);
  }

  const std::string folder_;
  bool copies_ = false;
  int writes_ = 0;
  std::vector<std::string> left_;
};

class TornWriteBack : public testing::Test {
 protected:
  TornWriteBack() {
    EXPECT_TRUE(store->ownership().enroll({.id = worker, .host = "here", .pid = 1}));
    for (int i = 0; i < 12; ++i) {
      ids.push_back(SessionId::parse(fmt::format("s{}", i)).value());
      EXPECT_TRUE(store->sessions().create({.id = ids.back()}));
      leases.push_back(store->ownership().acquire(ids.back(), worker).value());
    }
  }

  // Until a checkpoint has written the WAL back.
  void fill() {
    const auto size = fs::file_size(path);
    for (int turn = 0; fs::file_size(path) == size; ++turn) {
      ASSERT_LT(turn, 1000);
      Batch batch;
      batch.id = mint<BatchTag>(random_ids());
      const auto& lease = leases[static_cast<std::size_t>(turn) % leases.size()];
      batch.expected_head = store->sessions().read(lease.session)->head;
      batch.entries = {{.channel = "transcript",
                        .kind = "message",
                        .fold = Fold::append,
                        .body = Body::from_text(Json(std::string(6000, 'x')).text()),
                        .tally = {},
                        .at = {}}};
      ASSERT_TRUE(store->commit(lease, batch));
    }
  }

  const TempFolder folder = TempFolder::in_memory();
  const std::string path = folder.file("store.db");
  CopyingVfs vfs{folder.path().string()};
  std::unique_ptr<Store> store =
      sqlite::open_sqlite({.path = path, .open = {}, .vfs = vfs.name()}).value();
  const WorkerId worker = WorkerId::parse("worker").value();
  std::vector<SessionId> ids;
  std::vector<Lease> leases;
};

TEST_F(TornWriteBack, DoesNotHideThatTheWalIsLost) {
  fill();
  vfs.begin();
  fill();
  ASSERT_GT(vfs.left().size(), 10U);
  for (const std::string& left : vfs.left()) {
    fs::remove(left + "-wal");
    ASSERT_TRUE(open_store(left, {.create = false})) << "once, and closed";
    const auto opened = open_store(left, {.create = false});
    ASSERT_TRUE(opened) << opened.error().message;
    const auto report = (*opened)->upkeep().check().value();
    std::string found;
    for (const Damage& damage : report.damage) found += damage.what;
    EXPECT_NE(found.find("the WAL lacks commits"), std::string::npos) << left << ": " << found;
  }
}

TEST_F(TornWriteBack, IsCompletedIfTheWalIsThere) {
  fill();
  vfs.begin();
  fill();
  for (const std::string& left : vfs.left()) {
    const auto opened = open_store(left, {.create = false});
    ASSERT_TRUE(opened) << opened.error().message;
    EXPECT_TRUE((*opened)->upkeep().check().value().is_sound()) << left;
  }
}

}  // namespace
}  // namespace perdure
