// Facts come back as they were, and nothing but what was packed is read.

#include "copy/fact_codec.hpp"

#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "core/api/sha256.hpp"
#include "doubles/must.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "store/api/lookup.hpp"
#include "store/api/transfer.hpp"

namespace perdure::bundle {
namespace {

using namespace std::chrono_literals;

const Tally tally{.turns = 1, .steps = 2, .tokens_in = 3, .tokens_out = 4, .cost_micros = -5};
const Timestamp fact_time{1'700'000'000'123ms};

SessionFact session_fact() {
  SessionFact fact{.owner = 7, .row = SessionFact::Row{}};
  SessionSummary& row = fact.row->summary;
  row.id = must(SessionId::parse("ses_1"));
  row.title = "T\u00e9";
  row.opening = "o";
  row.tags = {"a", "b"};
  row.metadata = R"({"n":1})";
  row.status = Status::waiting;
  row.wait_reason = "w";
  row.wake_at = fact_time;
  row.parent = Parent{must(SessionId::parse("ses_0")), 3, Lineage::child};
  row.head = 4;
  row.next = 5;
  row.version = 6;
  row.tally = tally;
  row.attention = 1;
  row.restored = true;
  row.revision = 8;
  row.created_at = fact_time - 1s;
  row.updated_at = fact_time;
  fact.row->segment = 9;
  fact.row->commits = 10;
  fact.row->chain = sha256("chain");
  fact.row->fence = 11;
  return fact;
}

Call call() {
  return {.session = must(SessionId::parse("ses_1")),
          .position = 2,
          .args = 1,
          .result = 3,
          .tool = "pay",
          .provider_id = std::string("\0\xFF", 2),
          .effect = EffectClass::verifiable,
          .key = sha256("key"),
          .state = CallState::in_doubt,
          .attempts = 2,
          .failures = 1,
          .fence = 4,
          .intended_at = fact_time,
          .dispatched_at = fact_time + 1s,
          .deadline = fact_time + 2s,
          .settled_at = {},
          .who = "me",
          .why = "because"};
}

Entry entry(Condition condition) {
  Entry made{.position = 1,
             .segment = 2,
             .channel = "c",
             .kind = "k",
             .fold = Fold::replace,
             .body = Body::from_bytes(std::string("\0x", 2)),
             .hash = {},
             .tally = tally,
             .at = fact_time,
             .condition = condition};
  if (condition == Condition::erased) made.body = Body::from_stored(Codec::json, "");
  made.hash = sha256(condition == Condition::intact ? made.body.bytes() : "what it was");
  return made;
}

std::vector<std::vector<Fact>> samples() {
  const InboxMessage message{.session = must(SessionId::parse("ses_1")),
                             .id = must(MessageId::parse("m")),
                             .kind = "user",
                             .body = Body::from_text("{}"),
                             .at = fact_time};
  const Receipt receipt{.batch = must(BatchId::parse("b")),
                        .first = 1,
                        .count = 2,
                        .head = 2,
                        .version = 1,
                        .at = fact_time,
                        .chain = sha256("c")};
  const Checkpoint checkpoint{.version = 1,
                              .position = 2,
                              .at = fact_time,
                              .reason = "turn",
                              .label = "l",
                              .metadata = "{}",
                              .tally = tally};
  return {{},
          {session_fact(), SessionFact{.owner = 8, .row = {}}},
          {SegmentFact{2, 1, 3, SegmentId{1}, 2}, SegmentFact{3, 1, 4, {}, 0}},
          {PrunedFact{2, 1, 5, 4, tally}},
          {entry(Condition::intact), entry(Condition::damaged), entry(Condition::erased)},
          {ReceiptFact{1, 2, 3, 4, receipt}},
          {CheckpointFact{1, 2, checkpoint}},
          {CallFact{1, 2, call()}},
          {MessageFact{1, true, message}, MessageFact{1, false, message}},
          {ClaimFact{call()}},
          {ResourceFact{"printer", 3}}};
}

FactSlice slice_of(const std::vector<Fact>& facts) {
  return {.from = {.kind = FactKind::entry, .group = 1, .number = 2, .name = "n"},
          .facts = facts,
          .next = {.kind = FactKind::none, .group = 3, .number = 4, .name = ""}};
}

TEST(FactCodec, EveryFactComesBackAsItWas) {
  for (const auto& facts : samples()) {
    const FactSlice slice = slice_of(facts);
    EXPECT_EQ(unpack(pack(slice)), slice);
  }
}

TEST(FactCodec, WhatIsCutOffOrAddedIsRefused) {
  for (const auto& facts : samples()) {
    const std::string whole = pack(slice_of(facts));
    for (std::size_t size = 0; size < whole.size(); ++size) {
      EXPECT_FALSE(unpack(whole.substr(0, size))) << size;
    }
    EXPECT_FALSE(unpack(whole + '\0'));
  }
}

// Whatever the bytes, what is read is what they say: packed again it is the same bytes.
TEST(FactCodec, ThereIsOneFormOfEverything) {
  int read = 0;
  for (const auto& facts : samples()) {
    const std::string whole = pack(slice_of(facts));
    for (std::size_t at_byte = 0; at_byte < whole.size(); ++at_byte) {
      for (const char changed : {'\x01', '\x40', '\x80', '\xFF'}) {
        std::string other = whole;
        other[at_byte] = static_cast<char>(other[at_byte] ^ changed);
        const auto slice = unpack(other);
        if (!slice) continue;
        ++read;
        EXPECT_EQ(pack(*slice), other) << at_byte;
      }
    }
  }
  EXPECT_GT(read, 1000);
}

// Written down, so that a program of today reads a bundle of tomorrow's.
TEST(FactCodec, TheFormatIsPinned) {
  Sha256 hash;
  for (const auto& facts : samples()) hash.update_sized(pack(slice_of(facts)));
  EXPECT_EQ(to_hex(hash.finish()),
            "0aaa1595c55654bb4425d8bf56dee500de3b70ec0c4f52ebf496b0c2e0d3e4e5");
}

}  // namespace
}  // namespace perdure::bundle
