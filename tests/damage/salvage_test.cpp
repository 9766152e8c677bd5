// A salvage as a whole: what it carries over, and how its file gets its name.

#include "perdure/store/salvage.hpp"

#include <gtest/gtest.h>
#include <stdexcept>
#include <string>

#include "doubles/fake_clock.hpp"
#include "doubles/temp_folder.hpp"
#include "perdure/core/id_source.hpp"
#include "perdure/store/limits.hpp"
#include "perdure/store/open.hpp"

namespace perdure {
namespace {

template <class T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

class SalvagedStore : public testing::Test {
 protected:
  std::unique_ptr<Store> open(const std::string& path) {
    OpenOptions options;
    options.clock = &clock;
    return must(open_store(path, options));
  }

  FakeClock clock;
  TempFolder folder;
  const std::string damaged = folder.file("damaged.db");
  const std::string saved = folder.file("saved.db");
};

TEST_F(SalvagedStore, KnowsWhenABlobWasPutAgain) {
  BlobRef ref;
  {
    const auto store = open(damaged);
    ref = must(store->blobs().put("bytes"));
    clock.advance(blob_grace_min);
    must(store->blobs().put("bytes"));
  }
  must(salvage_store(damaged, saved));
  clock.advance(Duration(1));

  const auto store = open(saved);
  EXPECT_EQ(must(store->retention().collect_blobs(blob_grace_min)).items, 0U);
  EXPECT_EQ(must(store->blobs().get(ref)), "bytes");
}

}  // namespace
}  // namespace perdure
