// The index of session ids points to a row that is not there, or to another session's:
// the session is corrupted, and nobody gets another one in its place.

#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <memory>
#include <string>

#include "doubles/temp_folder.hpp"
#include "perdure/store/store.hpp"

namespace perdure {
namespace {

class MissingRow : public testing::TestWithParam<char> {
 protected:
  MissingRow() {
    for (const SessionId& id : {whole, damaged}) {
      EXPECT_TRUE(open_store(path).value()->sessions().create({.id = id}));
    }
    point_index_to(GetParam());
    store = open_store(path).value();
  }

  // An index cell ends with the id and the row's number, which is 2.
  void point_index_to(char row) {
    std::ifstream file(path, std::ios::binary);
    std::string bytes(std::istreambuf_iterator<char>(file), {});
    const std::size_t cell = bytes.find(damaged.text() + '\2');
    ASSERT_NE(cell, std::string::npos);
    bytes[cell + damaged.text().size()] = row;
    std::ofstream(path, std::ios::binary) << bytes;
  }

  TempFolder folder;
  const std::string path = folder.file("store.db");
  const SessionId whole = SessionId::parse("whole").value();
  const SessionId damaged = SessionId::parse("damaged").value();
  std::unique_ptr<Store> store;
};

INSTANTIATE_TEST_SUITE_P(NobodysOrAnothers, MissingRow, testing::Values('\x63', '\1'));

TEST_P(MissingRow, IsCorruptedWhereverItIsAskedFor) {
  const auto read = store->sessions().read(damaged);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::corrupted);
  const auto annotated = store->sessions().annotate(damaged, {.title = "x"});
  ASSERT_FALSE(annotated);
  EXPECT_EQ(annotated.error().code, ErrorCode::corrupted);
}

TEST_P(MissingRow, LeavesTheOthersAsTheyWere) {
  EXPECT_FALSE(store->sessions().annotate(damaged, {.title = "x"}));
  const auto read = store->sessions().read(whole);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->id, whole);
  EXPECT_EQ(read->title, "");
}

}  // namespace
}  // namespace perdure
