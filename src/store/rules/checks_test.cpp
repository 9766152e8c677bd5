// What is refused, and what must not be.

#include "rules/checks.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "store/api/limits.hpp"
#include "store/api/lookup.hpp"

namespace perdure::rules {
namespace {

template <class T>
struct Case {
  std::string rule;
  std::function<void(T&)> spoil;
};

/// `good` passes; after each case's change it does not.
template <class T>
void expect_refused(const T& good, const std::vector<Case<T>>& cases) {
  ASSERT_TRUE(check(good)) << check(good).error().message;
  for (const auto& [rule, spoil] : cases) {
    T bad = good;
    spoil(bad);
    const auto checked = check(bad);
    EXPECT_FALSE(checked) << rule;
    EXPECT_TRUE(checked || checked.error().code == ErrorCode::invalid_argument) << rule;
  }
}

SessionId session_id(const std::string& text) { return SessionId::parse(text).value(); }
MessageId message_id(const std::string& text) { return MessageId::parse(text).value(); }

Annotation full_annotation() {
  Annotation annotation;
  annotation.title = " " + std::string(title_bytes_max - 1, 'x');
  annotation.opening = "two\r\n\tlines " + std::string(text_bytes_max - 12, 'x');
  annotation.tags = {"a", "b"};
  annotation.metadata = " {\"x\": [1]}\n";
  return annotation;
}

TEST(Checks, Annotations) {
  expect_refused<Annotation>(
      full_annotation(), {{"title too long", [](auto& a) { *a.title += "x"; }},
                          {"title in two lines", [](auto& a) { a.title = "a\nb"; }},
                          {"title not UTF-8", [](auto& a) { a.title = "\xff"; }},
                          {"opening too long", [](auto& a) { *a.opening += "x"; }},
                          {"opening with an escape", [](auto& a) { a.opening = "\x1b[2J"; }},
                          {"opening with a C1 control", [](auto& a) { a.opening = "a\xc2\x85"; }},
                          {"a tag twice", [](auto& a) { a.tags = {"a", "a"}; }},
                          {"an empty tag", [](auto& a) { a.tags = {""}; }},
                          {"a tag that ends with a space", [](auto& a) { a.tags = {"a "}; }},
                          {"too many tags",
                           [](auto& a) {
                             a.tags->clear();
                             for (std::size_t i = 0; i <= tags_max; ++i)
                               a.tags->push_back(std::to_string(i));
                           }},
                          {"metadata not JSON", [](auto& a) { a.metadata = "{"; }},
                          {"metadata an array", [](auto& a) { a.metadata = "[]"; }},
                          {"metadata too long", [](auto& a) {
                             a.metadata = "{}" + std::string(metadata_bytes_max, ' ');
                           }}});
  Annotation empty;
  empty.title = "";
  empty.opening = "";
  empty.tags.emplace();
  EXPECT_TRUE(check(empty));
}

TEST(Checks, Sessions) {
  NewSession good;
  good.id = session_id("ses_1");
  good.wait_reason = "until\nnoon";
  good.origin = NewSession::Origin{session_id("ses_0"), Point::head(), Lineage::fork};
  expect_refused<NewSession>(
      good, {{"no id", [](auto& s) { s.id = {}; }},
             {"no id of the origin", [](auto& s) { s.origin->session = {}; }},
             {"bad annotation", [](auto& s) { s.annotation.metadata = "1"; }},
             {"wait reason too long",
              [](auto& s) { s.wait_reason = std::string(text_bytes_max + 1, 'x'); }}});
}

TEST(Checks, Workers) {
  NewWorker good;
  good.id = WorkerId::parse("wrk_1").value();
  good.lease_time = Duration(1);
  expect_refused<NewWorker>(good, {{"no id", [](auto& w) { w.id = {}; }},
                                   {"no lease time", [](auto& w) { w.lease_time = Duration(0); }},
                                   {"negative", [](auto& w) { w.lease_time = Duration(-5); }},
                                   {"for ever", [](auto& w) { w.lease_time = Duration::max(); }},
                                   {"host with a line break", [](auto& w) { w.host = "a\nb"; }}});
}

TEST(Checks, Messages) {
  InboxMessage const good{session_id("ses_1"), message_id("msg_1"), "note",
                          Body::from_bytes("\xff")};
  expect_refused<InboxMessage>(
      good, {{"no session", [](auto& m) { m.session = {}; }},
             {"no id", [](auto& m) { m.id = {}; }},
             {"no kind", [](auto& m) { m.kind = ""; }},
             {"no reference", [](auto& m) { m.body = Body::from_stored(Codec::blob, "{}"); }}});
}

Batch full_batch() {
  Batch batch;
  batch.id = BatchId::parse("bat_1").value();
  NewEntry entry;
  entry.channel = std::string(name_bytes_max, 'c');
  entry.kind = "message";
  entry.body = Body::from_bytes(std::string("\0\xff", 2));
  entry.tally.cost_micros = -5;
  batch.entries = {entry};
  Intend intend;
  intend.tool = "send";
  intend.provider_id = std::string("\0\xff\n ", 4);
  Settle settle;
  settle.why = "seen\nin the log";
  batch.calls = {intend, Dispatch{}, settle};
  batch.checkpoint.emplace();
  batch.status.emplace();
  batch.annotation.emplace();
  batch.consumed = {message_id("msg_1"), message_id("msg_2")};
  NewSession child;
  child.id = session_id("ses_2");
  batch.children = {child};
  return batch;
}

TEST(Checks, EntriesOfABatch) {
  expect_refused<Batch>(
      full_batch(),
      {{"no id", [](auto& b) { b.id = {}; }},
       {"no channel", [](auto& b) { b.entries[0].channel = ""; }},
       {"channel too long", [](auto& b) { b.entries[0].channel += "c"; }},
       {"no kind", [](auto& b) { b.entries[0].kind = ""; }},
       {"turns below zero", [](auto& b) { b.entries[0].tally.turns = -1; }},
       {"steps below zero", [](auto& b) { b.entries[0].tally.steps = -1; }},
       {"tokens in below zero", [](auto& b) { b.entries[0].tally.tokens_in = -1; }},
       {"tokens out below zero", [](auto& b) { b.entries[0].tally.tokens_out = -1; }},
       {"turns beyond reason", [](auto& b) { b.entries[0].tally.turns = tally_max + 1; }},
       {"cost beyond reason", [](auto& b) { b.entries[0].tally.cost_micros = tally_max + 1; }},
       {"refund beyond reason", [](auto& b) { b.entries[0].tally.cost_micros = INT64_MIN; }},
       {"no reference", [](auto& b) { b.entries[0].body = Body::from_stored(Codec::blob, "x"); }},
       {"too many entries",
        [](auto& b) { b.entries.resize(batch_entries_max + 1, b.entries[0]); }}});
}

TEST(Checks, TheRestOfABatch) {
  expect_refused<Batch>(
      full_batch(),
      {{"no tool", [](auto& b) { std::get<Intend>(b.calls[0]).tool = ""; }},
       {"provider id too long",
        [](auto& b) {
          std::get<Intend>(b.calls[0]).provider_id = std::string(text_bytes_max + 1, 'x');
        }},
       {"settled as intended",
        [](auto& b) { std::get<Settle>(b.calls[2]).state = CallState::intended; }},
       {"settled as dispatched",
        [](auto& b) { std::get<Settle>(b.calls[2]).state = CallState::dispatched; }},
       {"who with a line break", [](auto& b) { std::get<Settle>(b.calls[2]).who = "a\nb"; }},
       {"why too long",
        [](auto& b) { std::get<Settle>(b.calls[2]).why = std::string(text_bytes_max + 1, 'x'); }},
       {"bad label", [](auto& b) { b.checkpoint->label = " x"; }},
       {"bad reason", [](auto& b) { b.checkpoint->reason = "a\tb"; }},
       {"bad metadata", [](auto& b) { b.checkpoint->metadata = ""; }},
       {"bad wait reason", [](auto& b) { b.status->wait_reason = std::string(1, '\0'); }},
       {"bad annotation", [](auto& b) { b.annotation->title = "\n"; }},
       {"a message twice", [](auto& b) { b.consumed[1] = b.consumed[0]; }},
       {"a message without id", [](auto& b) { b.consumed[1] = {}; }},
       {"a child twice", [](auto& b) { b.children.push_back(b.children[0]); }},
       {"a bad child", [](auto& b) { b.children[0].id = {}; }}});
}

TEST(Checks, LimitsOfQueries) {
  for (const std::size_t limit : {std::size_t{1}, limit_max}) {
    EXPECT_TRUE(check_limit(limit)) << limit;
  }
  for (const std::size_t limit : {std::size_t{0}, limit_max + 1}) {
    SessionQuery sessions;
    sessions.limit = limit;
    LogQuery log;
    log.limit = limit;
    CheckpointQuery checkpoints;
    checkpoints.limit = limit;
    EXPECT_FALSE(check_limit(limit));
    EXPECT_FALSE(check(sessions));
    EXPECT_FALSE(check(log));
    EXPECT_FALSE(check(checkpoints));
  }
}

TEST(Checks, ResourceNames) {
  EXPECT_TRUE(check_resource("port:8080"));
  EXPECT_FALSE(check_resource(""));
  EXPECT_FALSE(check_resource(std::string(name_bytes_max + 1, 'x')));
}

TEST(Checks, TheMessageNamesTheByteOfTheOriginalText) {
  Annotation annotation;
  annotation.opening = "a \n\x01";
  EXPECT_NE(check(annotation).error().message.find("byte 3"), std::string::npos)
      << check(annotation).error().message;
}

}  // namespace
}  // namespace perdure::rules
