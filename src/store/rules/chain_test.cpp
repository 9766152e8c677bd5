// Every field a seal covers changes it, and the chain keeps its published form.

#include "rules/chain.hpp"

#include <functional>
#include <gtest/gtest.h>
#include <set>
#include <vector>

#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/store.hpp"

namespace perdure::rules {
namespace {

const Timestamp sealed_at{Duration(1'000)};

Batch make_batch() {
  Batch batch;
  batch.id = BatchId::parse("bat_1").value();
  NewEntry entry;
  entry.channel = "transcript";
  entry.kind = "message";
  entry.body = Body::from_text("{}");
  entry.tally = {1, 2, 3, 4, 5};
  batch.entries = {entry, entry};
  return batch;
}

TEST(Chain, EveryCoveredFieldChangesTheSeal) {
  const std::vector<std::function<void(Batch&)>> changes = {
      [](Batch&) {},
      [](Batch& batch) { batch.id = BatchId::parse("bat_2").value(); },
      [](Batch& batch) { batch.entries.pop_back(); },
      [](Batch& batch) { batch.entries[0].channel = "transcriptm"; },
      [](Batch& batch) { batch.entries[0].kind = "essage"; },
      [](Batch& batch) { batch.entries[0].fold = Fold::replace; },
      [](Batch& batch) { batch.entries[0].body = Body::from_text("[]"); },
      [](Batch& batch) { batch.entries[0].body = Body::from_bytes("{}"); },
      [](Batch& batch) { batch.entries[0].tally.turns = 9; },
      [](Batch& batch) { batch.entries[0].tally.steps = 9; },
      [](Batch& batch) { batch.entries[0].tally.tokens_in = 9; },
      [](Batch& batch) { batch.entries[0].tally.tokens_out = 9; },
      [](Batch& batch) { batch.entries[0].tally.cost_micros = 9; },
      [](Batch& batch) { batch.entries[0].at = sealed_at + Duration(1); },
      [](Batch& batch) { batch.entries[1].at = sealed_at + Duration(1); },
  };
  std::set<Digest> seals{seal(make_batch(), sealed_at + Duration(7)).seal};
  for (const auto& change : changes) {
    Batch batch = make_batch();
    change(batch);
    seals.insert(seal(batch, sealed_at).seal);
  }
  EXPECT_EQ(seals.size(), changes.size() + 1);
}

TEST(Chain, AnEntryWithoutATimeIsSealedWithTheCommitsTime) {
  Batch batch = make_batch();
  const Digest without = seal(batch, sealed_at).seal;
  batch.entries[0].at = sealed_at;
  EXPECT_EQ(seal(batch, sealed_at).seal, without);
}

TEST(Chain, HashesAreThoseOfTheBodies) {
  const Sealed sealed = seal(make_batch(), sealed_at);
  EXPECT_EQ(sealed.at, sealed_at);
  EXPECT_EQ(sealed.hashes, (std::vector<Digest>{sha256("{}"), sha256("{}")}));
}

TEST(Chain, LinksAreHashesOfFixedSizeFields) {
  const Digest start = chain_start(SessionId::parse("s").value());
  const std::string name("\0\0\0\0\0\0\0\x0fperdure session\0\0\0\0\0\0\0\x01s", 32);
  EXPECT_EQ(start, sha256(name));

  const Digest sealed = seal(make_batch(), sealed_at).seal;
  std::string link(start.begin(), start.end());
  link.append(sealed.begin(), sealed.end());
  link.append(std::string("\0\0\0\0\0\0\0\x04\0\0\0\0\0\0\0\x05", 16));
  EXPECT_EQ(chain_next(start, sealed, 4, 5), sha256(link));
}

}  // namespace
}  // namespace perdure::rules
