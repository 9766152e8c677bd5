// The bytes that are part of the store's format, as they must stay: of every kind of
// entry and of the chain over commits. A red test here is a new format, not a typo.
//
// The figures were computed apart from this code, from the words of rules/chain.hpp:
//   seal = H(s("perdure commit") s(batch) n(at) n(entries) entry…)
//   entry = s(channel) s(kind) n(fold) n(codec) H(body) n(each of the tally) n(at)
// where n is eight bytes, most significant first, and s is n(length) and the bytes.

#include <array>
#include <gtest/gtest.h>
#include <string>
#include <string_view>

#include "core/api/text.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "rules/chain.hpp"

namespace perdure {
namespace {

const Timestamp golden_time{Duration(1'700'000'000'123)};

struct Golden {
  Fold fold = Fold::append;
  Body body;
  std::string_view hash;
  std::string_view seal;
};

// Every codec under every fold.
std::array<Golden, 6> every_kind() {
  const Body json = Body::from_text(R"({"a":1.0})");
  const Body bytes = Body::from_bytes(std::string("\0\xff{", 3));
  const Body blob = Body::from_blob({.digest = sha256("abc"), .size = 3});
  constexpr std::string_view json_hash =
      "c29a44abc114a1d75486434c013102c9e736f526b4fd19658d9492b7b224de6d";
  constexpr std::string_view bytes_hash =
      "733f916a9b2736409c58d2b14a21923ea5413e225243d4e725a76cec044af502";
  constexpr std::string_view blob_hash =
      "0405dc8fa4acbb10e8eb083c6d4842b77847aaab3ec24d8a5d3864a17948d6dc";
  return {{
      {Fold::append, json, json_hash,
       "ee30ff419cc0e9c5dfc927357bd20caf1c5d3d4ee4ca06c993c40e134ffb657f"},
      {Fold::append, bytes, bytes_hash,
       "6754be11926e76e552bca7728309ba3ac2fc97b71817834a01a1ab569cc50053"},
      {Fold::append, blob, blob_hash,
       "c9e65ee93d9054f48dac5ee0050c9ff4bc6bfeb27889fc39a4cc4173a1ffd64e"},
      {Fold::replace, json, json_hash,
       "34c6537c27fab58eb1a41b10a736cb5497569f96a4f05994933ebebca778659d"},
      {Fold::replace, bytes, bytes_hash,
       "470a67912d7681affe8a93ea7933a60bb4502f4559eae3fab76cd59393b91b68"},
      {Fold::replace, blob, blob_hash,
       "289c1bcb885ab8b13fa61eaef205ad24632c4a8fbee210b41c153cbb1d2eb490"},
  }};
}

NewEntry entry_of(const Golden& golden) {
  return {.channel = "transcript",
          .kind = "message",
          .fold = golden.fold,
          .body = golden.body,
          .tally = {.turns = 1, .steps = 2, .tokens_in = 3, .tokens_out = 4, .cost_micros = -5},
          .at = {}};
}

Batch empty_batch() { return {.id = BatchId::parse("bat_1").value()}; }

Batch batch_of_every_kind() {
  Batch batch = empty_batch();
  for (const Golden& golden : every_kind()) batch.entries.push_back(entry_of(golden));
  return batch;
}

std::string seal_of(const Batch& batch) { return to_hex(rules::seal(batch, golden_time).seal); }

constexpr std::string_view seal_of_all =
    "72ea59c36cdb00fdfb112e08a55278c49ad7472d5cfc54a18b5ec008666d08cf";
constexpr std::string_view seal_of_none =
    "30ecfa6fbbbb4c60b3db0d015558065790583cf9f566178ed4d69c84840cbb6b";

TEST(GoldenBytes, OfEveryKindOfEntry) {
  for (const Golden& golden : every_kind()) {
    Batch batch = empty_batch();
    batch.entries = {entry_of(golden)};
    const rules::Sealed sealed = rules::seal(batch, golden_time);
    EXPECT_EQ(to_hex(sealed.hashes.at(0)), golden.hash) << golden.body.bytes();
    EXPECT_EQ(to_hex(sealed.seal), golden.seal) << golden.body.bytes();
  }
}

TEST(GoldenBytes, OfAnEntryWithATimeBefore1970AndNoTally) {
  Batch batch = empty_batch();
  batch.entries = {{.channel = "f\xc3\xbcr",
                    .kind = "k",
                    .fold = Fold::append,
                    .body = {},
                    .tally = {},
                    .at = Timestamp(Duration(-1))}};
  EXPECT_EQ(seal_of(batch), "78b630de0f842511a346521035241491869cf7b0003d1c32fe16a57cbe0c5ecc");
}

TEST(GoldenBytes, OfABatch) {
  EXPECT_EQ(seal_of(empty_batch()), seal_of_none);
  EXPECT_EQ(seal_of(batch_of_every_kind()), seal_of_all);
}

// What is not a fact of the log is not under its seal: each part of a batch, one by one.
TEST(GoldenBytes, OfABatchWithEveryOtherPart) {
  Batch batch = batch_of_every_kind();
  batch.expected_head = 9;
  batch.branch_from = Point::position(3);
  EXPECT_EQ(seal_of(batch), seal_of_all) << "the chain covers where it goes on from";
  batch.calls = {Intend{.call = 10, .args = 10, .tool = "send", .key = sha256("k")},
                 Dispatch{.call = 10}, Settle{.call = 10}};
  EXPECT_EQ(seal_of(batch), seal_of_all) << "calls";
  batch.checkpoint = NewCheckpoint{.reason = "r", .label = "l", .metadata = R"({"a":1})"};
  EXPECT_EQ(seal_of(batch), seal_of_all) << "checkpoint";
  batch.status =
      StatusChange{.status = Status::waiting, .wait_reason = "w", .wake_at = golden_time};
  EXPECT_EQ(seal_of(batch), seal_of_all) << "status";
  batch.annotation = Annotation{.title = "t", .opening = "o", .tags = {{"x"}}, .metadata = "{}"};
  EXPECT_EQ(seal_of(batch), seal_of_all) << "annotation";
  batch.consumed = {MessageId::parse("m").value()};
  EXPECT_EQ(seal_of(batch), seal_of_all) << "consumed";
  batch.children = {NewSession{.id = SessionId::parse("c").value()}};
  EXPECT_EQ(seal_of(batch), seal_of_all) << "children";
  batch.sync = Sync::later;
  EXPECT_EQ(seal_of(batch), seal_of_all) << "sync";
}

TEST(GoldenBytes, OfTheChain) {
  const Digest start = rules::chain_start(SessionId::parse("ses_1").value());
  EXPECT_EQ(to_hex(start), "a6227942eb527955e2b4de5d102fc59e7092993cca7e414cd24c836e89d565be");
  const Digest all = digest_from_hex(seal_of_all).value();
  const Digest first = rules::chain_next(start, all, 0, 1);
  EXPECT_EQ(to_hex(first), "97ebcb303e48a019f8cd8d6dbafb5202bba13ff03fe39e22c9c690419d315967");
  const Digest none = digest_from_hex(seal_of_none).value();
  EXPECT_EQ(to_hex(rules::chain_next(first, none, 3, 7)),
            "83afebde35fa957f614725abd1751c75cbcc522ba8c043715c5d07af0ae5360b");
}

TEST(GoldenBytes, OfAReferenceToABlob) {
  EXPECT_EQ(Body::from_blob({.digest = sha256("abc"), .size = 3}).bytes(),
            R"({"blob":"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",)"
            R"("bytes":3})");
}

TEST(GoldenBytes, OfNumbersThatAreStored) {
  EXPECT_EQ(static_cast<int>(Codec::json), 0);
  EXPECT_EQ(static_cast<int>(Codec::bytes), 1);
  EXPECT_EQ(static_cast<int>(Codec::blob), 2);
  EXPECT_EQ(static_cast<int>(Fold::append), 0);
  EXPECT_EQ(static_cast<int>(Fold::replace), 1);
}

TEST(GoldenBytes, OfAnId) {
  EXPECT_EQ(to_base32({0x01, 0x8f, 0x5b, 0x2c, 0x7a, 0x3d, 0x70, 0x01, 0x80, 0x00, 0xff, 0xee, 0xdd,
                       0xcc, 0xbb, 0xaa}),
            "01hxdjryhxe00r007zxvewsexa");
}

}  // namespace
}  // namespace perdure
