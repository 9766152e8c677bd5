// Blobs (store.hpp) made executable.

#include <limits>
#include <sys/mman.h>

#include "contract/store_contract.hpp"
#include "perdure/store/log.hpp"
#include "store/api/limits.hpp"
#include "store/api/lookup.hpp"
#include "store/api/seam.hpp"

namespace perdure {
namespace {

class BlobsContract : public StoreContract {
 protected:
  Blobs& blobs() { return store->blobs(); }
};

INSTANTIATE_TEST_SUITE_P(EveryBackend, BlobsContract, testing::ValuesIn(every_form()), name_of);

TEST_P(BlobsContract, ABlobIsNamedByItsContent) {
  const BlobRef ref = must(blobs().put("some bytes"));

  EXPECT_EQ(ref, (BlobRef{sha256("some bytes"), 10}));
}

TEST_P(BlobsContract, ABlobIsReadByteForByte) {
  std::string bytes;
  for (int i = 0; i < 3'000'000; ++i) bytes += static_cast<char>(i * 7 % 256);

  EXPECT_EQ(must(blobs().get(must(blobs().put("")))), "");
  EXPECT_TRUE(must(blobs().get(must(blobs().put(bytes)))) == bytes);
}

TEST_P(BlobsContract, TheSameBytesAreOneBlob) {
  const BlobRef first = must(blobs().put("twice"));

  EXPECT_EQ(must(blobs().put("twice")), first);
  EXPECT_EQ(must(blobs().get(first)), "twice");
}

TEST_P(BlobsContract, ARangeIsReadFromTheOffset) {
  const BlobRef ref = must(blobs().put("0123456789"));

  EXPECT_EQ(must(blobs().read(ref, 0, 4)), "0123");
  EXPECT_EQ(must(blobs().read(ref, 3, 4)), "3456");
  EXPECT_EQ(must(blobs().read(ref, 3, 0)), "");
  EXPECT_EQ(must(blobs().read(ref, 0, 10)), "0123456789");
}

TEST_P(BlobsContract, ReadingAtOrPastTheEndGivesFewerOrNone) {
  const BlobRef ref = must(blobs().put("0123456789"));
  const auto most = std::numeric_limits<std::uint64_t>::max();

  EXPECT_EQ(must(blobs().read(ref, 8, 4)), "89");
  EXPECT_EQ(must(blobs().read(ref, 8, most)), "89");
  EXPECT_EQ(must(blobs().read(ref, 10, 4)), "");
  EXPECT_EQ(must(blobs().read(ref, 11, 4)), "");
  EXPECT_EQ(must(blobs().read(ref, most, most)), "");
}

TEST_P(BlobsContract, ABlobThatWasNotPutIsNotFound) {
  const BlobRef unknown{sha256("never put"), 9};

  EXPECT_EQ(code_of(blobs().get(unknown)), ErrorCode::not_found);
  EXPECT_EQ(code_of(blobs().read(unknown, 0, 1)), ErrorCode::not_found);
  EXPECT_FALSE(must(has_blob(blobs(), unknown)));
  must(blobs().put("never put"));
  EXPECT_TRUE(must(has_blob(blobs(), unknown)));
}

TEST_P(BlobsContract, ANameWithAnotherSizeIsNotTheBlob) {
  const Lease lease = own(create());
  BlobRef ref = must(blobs().put("0123456789"));
  ++ref.size;
  NewEntry entry = message("");
  entry.body = Body::from_blob(ref);

  EXPECT_EQ(code_of(blobs().get(ref)), ErrorCode::not_found);
  EXPECT_EQ(code_of(blobs().read(ref, 0, 1)), ErrorCode::not_found);
  EXPECT_FALSE(must(has_blob(blobs(), ref)));
  EXPECT_EQ(code_of(store->commit(lease, batch_of(lease.session, {entry}))),
            ErrorCode::invalid_argument);
}

TEST_P(BlobsContract, ABlobBeyondTheLimitIsRefused) {
  // Never touched, so the pages take no memory: the size alone is enough to refuse.
  const std::size_t size = blob_bytes_max + 1;
  void* const pages =
      mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);

  const auto put = blobs().put({static_cast<const char*>(pages), size});

  EXPECT_EQ(code_of(put), ErrorCode::invalid_argument);
  munmap(pages, size);
}

TEST_P(BlobsContract, AnEntryRefersToABlobThatWasPut) {
  const Lease lease = own(create());
  const BlobRef ref = must(blobs().put("large"));
  NewEntry entry = message("");
  entry.body = Body::from_blob(ref);

  commit(lease, batch_of(lease.session, {entry}));

  const Entry read = must(store->log().read(lease.session, {})).at(0);
  EXPECT_EQ(read.body, entry.body);
  EXPECT_EQ(read.body.blob(), ref);
  EXPECT_EQ(must(blobs().get(*read.body.blob())), "large");
}

TEST_P(BlobsContract, AnEntryCannotReferToABlobThatWasNotPut) {
  const Lease lease = own(create());
  NewEntry entry = message("");
  entry.body = Body::from_blob({sha256("never put"), 9});
  const auto before = everything(*store);

  const auto refused = store->commit(lease, batch_of(lease.session, {message("one"), entry}));

  EXPECT_EQ(code_of(refused), ErrorCode::invalid_argument);
  EXPECT_EQ(everything(*store), before);
}

}  // namespace
}  // namespace perdure
