// Bodies as bad days produce them: kept byte for byte through every way back out.

#include "contract/store_contract.hpp"
#include "perdure/core/json.hpp"
#include "perdure/store/log.hpp"
#include "store/api/limits.hpp"
#include "store/api/lookup.hpp"

namespace perdure {
namespace {

std::vector<std::string> odd_bodies() {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  std::string all_bytes;
  for (int byte = 0; byte < 256; ++byte) all_bytes += static_cast<char>(byte);
  return {
      "",
      R"("\ud800")",
      R"({"\udfff": "\ud83d"})",
      "1e400",
      "-0.0e-999999999999",
      "[1.0, 12345678901234567890, 0.1000]",
      nested(json_depth_max),
      nested(json_depth_max + 1),
      nested(1000),
      nested(1001),
      nested(10'000),
      std::string(10'000, '['),
      "\xff\xfe{\"a\":1}",
      "\xef\xbb\xbf{\"a\":1}",
      "{\"a\":\"\xed\xa0\x80\"}",
      std::string("\0", 1),
      std::string("{\"a\":1}\0", 8),
      std::string("{\"a\0\":1}", 8),
      R"({"a":1,"a":2})",
      " \n\t{ } \r\n",
      "{\"blob\":\"no reference\"}",
      "'; DROP TABLE entry; --",
      all_bytes,
  };
}

class HostileBodies : public StoreContract {
 protected:
  /// Closes the store and opens it again, where it outlives its object.
  void reopen() {
    if (!GetParam().survives()) return;
    store.reset();
    enrolled.clear();
    store = must(open());
  }

  SessionId session = create("session");
};

INSTANTIATE_TEST_SUITE_P(EveryBackend, HostileBodies, testing::ValuesIn(every_form()), name_of);

TEST_P(HostileBodies, AreKeptThroughEveryWayBackOut) {
  const Lease lease = own(session);
  std::vector<Body> bodies;
  for (const std::string& text : odd_bodies()) {
    bodies.push_back(Body::from_text(text));
    bodies.push_back(Body::from_bytes(text));
  }
  Batch made = batch(session);
  for (const Body& body : bodies) {
    NewEntry entry = message("");
    entry.body = body;
    made.entries.push_back(entry);
  }
  made.checkpoint = NewCheckpoint{.label = "all"};
  commit(lease, made);
  say(lease, "later");
  fork("fork", session, Point::version(1));
  branch(lease, Point::version(1), "other");
  reopen();

  for (const auto& [id, point] :
       std::vector<std::pair<SessionId, Point>>{{session, Point::head()},
                                                {session, Point::version(1)},
                                                {session_id("fork"), Point::head()}}) {
    const auto read = must(store->log().read(id, as_of(point)));
    ASSERT_GE(read.size(), bodies.size());
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      EXPECT_TRUE(read[i].body == bodies[i]) << i << describe(point);
      EXPECT_EQ(read[i].condition, Condition::intact) << i;
      EXPECT_EQ(read[i].hash, sha256(bodies[i].bytes())) << i;
    }
  }
}

TEST_P(HostileBodies, AreKeptAsValuesAndMessages) {
  const Lease lease = own(session);
  int number = 0;
  for (const std::string& text : odd_bodies()) {
    const std::string name = "n" + std::to_string(++number);
    NewEntry entry = value("", name);
    entry.body = Body::from_text(text);
    commit(lease, batch_of(session, {entry}));
    must(store->inbox().post({session, message_id(name), "note", Body::from_text(text)}));
  }
  reopen();

  const auto messages = must(store->inbox().list(session, limit_max));
  ASSERT_EQ(messages.size(), odd_bodies().size());
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const auto found =
        must(store->log().find_value(session, "n" + std::to_string(i + 1), Point::head()));
    EXPECT_TRUE(found && found->body == Body::from_text(odd_bodies()[i])) << i;
    EXPECT_TRUE(messages[i].body == Body::from_text(odd_bodies()[i])) << i;
  }
}

TEST_P(HostileBodies, OddMetadataIsKeptAndFound) {
  const Lease lease = own(session);
  const std::vector<std::string> members{R"("\ud800")",
                                         "1e400",
                                         "[1.0]",
                                         "\"a\\u0000b\"",
                                         "12345678901234567890",
                                         std::string(254, '[') + std::string(254, ']')};
  for (const std::string& member : members) {
    Batch made = batch(session);
    made.checkpoint = NewCheckpoint{.metadata = " {\"odd\" : " + member + "} "};
    made.annotation = Annotation{.metadata = made.checkpoint->metadata};
    commit(lease, made);
    EXPECT_EQ(row(session).metadata, made.checkpoint->metadata);
    const auto found =
        must(store->log().checkpoints(session, {.metadata = {{"odd", must(parse_json(member))}}}));
    ASSERT_EQ(found.size(), 1U) << member;
    EXPECT_EQ(found[0].metadata, made.checkpoint->metadata);
  }
}

TEST_P(HostileBodies, OfSixtyFourMebibytesAreKeptInlineAndAsBlobs) {
  const Lease lease = own(session);
  const std::string text = "\"" + std::string((std::size_t{64} << 20U) - 2, 'x') + "\"";
  const BlobRef blob = must(store->blobs().put(text));
  Batch made = batch_of(session, {message(""), message("")});
  made.entries[0].body = Body::from_text(text);
  made.entries[1].body = Body::from_blob(blob);
  commit(lease, made);
  reopen();

  const auto read = must(store->log().read(session, {}));
  EXPECT_EQ(read.at(0).body.codec(), Codec::json);
  EXPECT_TRUE(read.at(0).body.bytes() == text);
  EXPECT_EQ(read.at(0).condition, Condition::intact);
  EXPECT_TRUE(must(store->blobs().get(read.at(1).body.blob().value())) == text);
}

TEST_P(HostileBodies, OfTheLargestSizeAreKeptInline) {
  const Lease lease = own(session);
  Batch made = batch_of(session, {message(std::string(body_bytes_max, '\xfe'))});
  made.sync = Sync::later;
  commit(lease, made);
  const auto read = must(store->log().read(session, {}));
  EXPECT_TRUE(read.at(0).body == made.entries[0].body);
  EXPECT_EQ(read.at(0).condition, Condition::intact);
}

}  // namespace
}  // namespace perdure
