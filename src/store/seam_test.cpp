// What readers do with a body that is in a blob.

#include "store/api/seam.hpp"

#include <cstdint>
#include <gtest/gtest.h>
#include <string>
#include <string_view>
#include <utility>

#include "perdure/core/error.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/store.hpp"
#include "store/api/lookup.hpp"

namespace perdure {
namespace {

/// Answers every question alike.
class OneBlob final : public Blobs {
 public:
  explicit OneBlob(Result<std::string> bytes) : bytes_(std::move(bytes)) {}

  Result<BlobRef> put(std::string_view /*bytes*/) override { return BlobRef{}; }
  Result<std::string> read(const BlobRef& /*ref*/, std::uint64_t /*offset*/,
                           std::uint64_t /*size*/) override {
    ++asked;
    return bytes_;
  }

  int asked = 0;

 private:
  Result<std::string> bytes_;
};

Entry in_a_blob() {
  const BlobRef ref{.digest = sha256(R"({"a":1})"), .size = 7};
  return {.position = 1, .body = Body::from_blob(ref)};
}

TEST(LoadBlobTest, PutsTheTextInPlaceOfTheReference) {
  OneBlob blobs(std::string(R"({"a":1})"));
  Entry entry = in_a_blob();
  ASSERT_TRUE(load_blob(blobs, entry));
  EXPECT_EQ(entry.body, Body::from_text(R"({"a":1})"));
  EXPECT_EQ(entry.condition, Condition::intact);
}

TEST(LoadBlobTest, WhatIsMissingOrDamagedDamagesTheEntry) {
  for (const ErrorCode code : {ErrorCode::not_found, ErrorCode::corrupted}) {
    OneBlob blobs(fail(code, "it is gone"));
    Entry entry = in_a_blob();
    ASSERT_TRUE(load_blob(blobs, entry));
    EXPECT_EQ(entry.condition, Condition::damaged);
    EXPECT_EQ(entry.body, in_a_blob().body);
  }
}

TEST(LoadBlobTest, BytesThatDoNotMatchTheirNameDamageTheEntry) {
  OneBlob blobs(std::string(R"({"a":2})"));
  Entry entry = in_a_blob();
  EXPECT_EQ(blobs.get(*entry.body.blob()).error().code, ErrorCode::corrupted);
  ASSERT_TRUE(load_blob(blobs, entry));
  EXPECT_EQ(entry.condition, Condition::damaged);
}

TEST(LoadBlobTest, AStoreThatCannotBeReadIsAnError) {
  OneBlob blobs(fail(ErrorCode::unavailable, "the disk"));
  Entry entry = in_a_blob();
  const auto loaded = load_blob(blobs, entry);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, ErrorCode::unavailable);
  EXPECT_EQ(entry, in_a_blob());
}

TEST(LoadBlobTest, OtherBodiesAndErasedEntriesAskForNothing) {
  OneBlob blobs(std::string("text"));
  Entry inline_text{.body = Body::from_text("{}")};
  Entry erased = in_a_blob();
  erased.condition = Condition::erased;
  for (Entry* entry : {&inline_text, &erased}) {
    const Entry before = *entry;
    ASSERT_TRUE(load_blob(blobs, *entry));
    EXPECT_EQ(*entry, before);
  }
  EXPECT_EQ(blobs.asked, 0);
}

}  // namespace
}  // namespace perdure
