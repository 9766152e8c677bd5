// Names nobody should send, in every place that takes one: refused, and nothing is
// written. Names that only look dangerous are names like any other.

#include "contract/store_contract.hpp"
#include "perdure/store/log.hpp"
#include "store/api/limits.hpp"
#include "store/api/lookup.hpp"

namespace perdure {
namespace {

using testing::IsEmpty;

/// Bytes that no name, line or text may hold.
std::vector<std::string> never_allowed() {
  return {std::string("a\0b", 3),  // NUL
          "a\x1f",                 // a control character
          "a\x7f",                 // DEL
          "a\xc2\x80",             // U+0080
          "a\xc2\x9f",             // U+009F
          "\xff",                  // never a byte of UTF-8
          "\xc0\xaf",              // an overlong slash
          "\xe0\x80\xaf",          // and a longer one
          "\xed\xa0\x80",          // a surrogate
          "\xf4\x90\x80\x80",      // beyond U+10FFFF
          "a\xe2\x82",             // cut off
          "\x80",                  // a continuation of nothing
          std::string("'; DROP\0TABLE", 13)};
}

std::vector<std::string> bad_names() {
  auto names = never_allowed();
  for (std::string more : {" a", "a ", "a\nb", "a\tb", "\r"}) names.push_back(std::move(more));
  names.emplace_back(name_bytes_max + 1, 'x');
  names.emplace_back(std::size_t{1} << 20U, 'x');
  return names;
}

/// What SQL, shells and patterns would trip over.
std::vector<std::string> odd_names() {
  return {"'; DROP TABLE session; --",
          "\" OR 1=1",
          "%",
          "_",
          "*",
          "\\",
          "?1",
          ":a",
          "$a",
          "@a",
          "NULL",
          "[x]",
          "`x`",
          "a/../b",
          "\xf0\x9f\x92\xa5",
          "\xe2\x80\xae reversed"};
}

using Spoil = std::function<void(Batch&, const std::string&)>;

struct Place {
  std::string name;
  Spoil put;
  bool may_be_empty = false;
};

std::vector<Place> places_of_names() {
  const auto intend = [](Batch& batch) -> Intend& { return std::get<Intend>(batch.calls[0]); };
  return {
      {"channel", [](Batch& b, const auto& n) { b.entries[0].channel = n; }},
      {"kind", [](Batch& b, const auto& n) { b.entries[0].kind = n; }},
      {"tool", [=](Batch& b, const auto& n) { intend(b).tool = n; }},
      {"who", [](Batch& b, const auto& n) { std::get<Settle>(b.calls[1]).who = n; }, true},
      {"reason", [](Batch& b, const auto& n) { b.checkpoint->reason = n; }, true},
      {"label", [](Batch& b, const auto& n) { b.checkpoint->label = n; }, true},
      {"tag", [](Batch& b, const auto& n) { b.annotation->tags = {{"ok", n}}; }},
      {"tag of a child", [](Batch& b, const auto& n) { b.children[0].annotation.tags = {{n}}; }},
  };
}

std::vector<Place> places_of_texts() {
  return {
      {"title", [](Batch& b, const auto& n) { b.annotation->title = n; }},
      {"opening", [](Batch& b, const auto& n) { b.annotation->opening = n; }},
      {"wait reason", [](Batch& b, const auto& n) { b.status->wait_reason = n; }},
      {"why", [](Batch& b, const auto& n) { std::get<Settle>(b.calls[1]).why = n; }},
      {"wait reason of a child", [](Batch& b, const auto& n) { b.children[0].wait_reason = n; }},
      {"title of a child", [](Batch& b, const auto& n) { b.children[0].annotation.title = n; }},
  };
}

class HostileNames : public StoreContract {
 protected:
  HostileNames() { say(lease, "one"); }

  /// Has every part a name can stand in.
  Batch good() {
    Batch made = batch_of(session, {message("two")});
    const Position at = row(session).next;
    made.calls = {Intend{.call = at, .args = at, .tool = "send"},
                  Settle{.call = at, .state = CallState::denied}};
    made.checkpoint = NewCheckpoint{};
    made.status = StatusChange{};
    made.annotation = Annotation{};
    made.children = {NewSession{.id = session_id("child")}};
    return made;
  }

  void expect_refused(const Place& place, const std::string& name) {
    Batch made = good();
    place.put(made, name);
    EXPECT_EQ(code_of(store->commit(lease, made)), ErrorCode::invalid_argument)
        << place.name << " " << describe(name).substr(0, 100);
  }

  SessionId session = create("session");
  Lease lease = own(session);
};

INSTANTIATE_TEST_SUITE_P(EveryBackend, HostileNames, testing::ValuesIn(every_form()), name_of);

TEST(HostileIds, AreNotIds) {
  auto bad = bad_names();
  bad.emplace_back();
  for (const std::string& name : bad) {
    EXPECT_EQ(code_of(SessionId::parse(name)), ErrorCode::invalid_argument) << describe(name);
    EXPECT_EQ(code_of(WorkerId::parse(name)), ErrorCode::invalid_argument) << describe(name);
    EXPECT_EQ(code_of(BatchId::parse(name)), ErrorCode::invalid_argument) << describe(name);
    EXPECT_EQ(code_of(MessageId::parse(name)), ErrorCode::invalid_argument) << describe(name);
  }
}

TEST_P(HostileNames, AreRefusedWhereverABatchHasAName) {
  const auto before = everything(*store);
  for (const Place& place : places_of_names()) {
    for (const std::string& name : bad_names()) expect_refused(place, name);
    if (!place.may_be_empty) expect_refused(place, "");
  }
  EXPECT_EQ(everything(*store), before);
  commit(lease, good());
}

TEST_P(HostileNames, AreRefusedWhereverABatchHasText) {
  const auto before = everything(*store);
  for (const Place& place : places_of_texts()) {
    for (const std::string& text : never_allowed()) expect_refused(place, text);
    expect_refused(place, std::string(text_bytes_max + 1, 'x'));
  }
  EXPECT_EQ(everything(*store), before);
}

TEST_P(HostileNames, AreRefusedByEveryOtherWrite) {
  const auto before = everything(*store);
  const WorkerId worker = lease.worker;
  auto bad = bad_names();
  bad.emplace_back();
  for (const std::string& name : bad) {
    EXPECT_EQ(code_of(store->lookup().acquire_resource(name, worker)), ErrorCode::invalid_argument)
        << describe(name).substr(0, 100);
    EXPECT_EQ(code_of(store->inbox().post({session, message_id("m"), name, {}})),
              ErrorCode::invalid_argument)
        << describe(name).substr(0, 100);
    EXPECT_EQ(must(store->lookup().find_resource(name)), std::nullopt);
  }
  for (const std::string& text : never_allowed()) {
    EXPECT_EQ(code_of(store->ownership().enroll({.id = worker_id("w"), .host = text})),
              ErrorCode::invalid_argument);
    EXPECT_EQ(code_of(store->sessions().create({.id = session_id("s"), .wait_reason = text})),
              ErrorCode::invalid_argument);
    EXPECT_EQ(code_of(store->sessions().annotate(session, {.opening = text})),
              ErrorCode::invalid_argument);
  }
  EXPECT_EQ(everything(*store), before);
}

// An id that was never made is the one bad id that C++ lets a caller hold.
TEST_P(HostileNames, NoIdNamesNothing) {
  const auto before = everything(*store);
  const SessionId nobody;
  EXPECT_EQ(code_of(store->sessions().read(nobody)), ErrorCode::not_found);
  EXPECT_EQ(code_of(store->sessions().annotate(nobody, {})), ErrorCode::not_found);
  EXPECT_EQ(code_of(store->sessions().create({.id = nobody})), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of(store->ownership().enroll({})), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of(store->ownership().renew({})), ErrorCode::lease_lost);
  EXPECT_TRUE(store->ownership().retire({}));
  EXPECT_EQ(code_of(store->ownership().acquire(nobody, lease.worker)), ErrorCode::not_found);
  EXPECT_EQ(code_of(store->ownership().acquire(session, {})), ErrorCode::lease_lost);
  EXPECT_EQ(code_of(store->lookup().acquire_resource("r", {})), ErrorCode::lease_lost);
  EXPECT_TRUE(store->ownership().release({}));
  EXPECT_EQ(code_of(store->log().read(nobody, {})), ErrorCode::not_found);
  EXPECT_EQ(must(store->lookup().find_receipt(session, {})), std::nullopt);
  EXPECT_EQ(code_of(store->ledger().read(nobody, 1)), ErrorCode::not_found);
  EXPECT_EQ(code_of(store->ledger().list({.session = nobody})), ErrorCode::not_found);
  EXPECT_EQ(code_of(store->inbox().list(nobody, 1)), ErrorCode::not_found);
  EXPECT_EQ(code_of(store->inbox().post({nobody, message_id("m"), "k", {}})),
            ErrorCode::invalid_argument);
  EXPECT_EQ(code_of(store->inbox().post({session, {}, "k", {}})), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of(store->commit({}, batch(session))), ErrorCode::not_found);
  EXPECT_EQ(everything(*store), before);
}

TEST_P(HostileNames, ThatOnlyLookDangerousAreKeptAsTheyAre) {
  for (const std::string& name : odd_names()) {
    const Lease odd = own(create(name), name);
    Batch made = batch_of(odd.session, {message(name, name), value(name, name)});
    made.id = batch_id(name);
    made.entries[0].kind = name;
    made.calls = {Intend{.call = 1, .args = 1, .tool = name},
                  Settle{.call = 1, .state = CallState::denied, .who = name, .why = name}};
    made.checkpoint = NewCheckpoint{.reason = name, .label = name};
    made.annotation = Annotation{.title = name, .opening = name, .tags = {{name}}};
    post(odd.session, name, name);
    commit(odd, made);

    EXPECT_EQ(row(odd.session).title, name);
    EXPECT_EQ(call(odd.session, 1).tool, name);
    EXPECT_EQ(must(store->inbox().list(odd.session, 9)).at(0).id.text(), name);
    EXPECT_TRUE(must(store->lookup().find_receipt(odd.session, batch_id(name))));
    EXPECT_EQ(must(store->lookup().acquire_resource(name, odd.worker)).name, name);
  }
  EXPECT_EQ(row(session).head, 1U);
}

TEST_P(HostileNames, AFilterFindsThatNameAndNoOther) {
  for (const std::string& name : odd_names()) {
    const Lease odd = own(create(name));
    Batch made = batch_of(odd.session, {value(name, name)});
    made.checkpoint = NewCheckpoint{.label = name};
    made.checkpoint->metadata = Json(Json::Object{{name, name}}).text();
    made.annotation = Annotation{.title = name, .tags = {{name}}};
    commit(odd, made);
  }
  for (const std::string& name : odd_names()) {
    const auto tagged = must(store->sessions().list({.tag = name}));
    ASSERT_EQ(tagged.sessions.size(), 1U) << name;
    EXPECT_EQ(tagged.sessions[0].id.text(), name);
    for (const std::string& other : odd_names()) {
      const SessionId id = session_id(other);
      const bool same = other == name;
      EXPECT_EQ(texts(id, {.channel = name}).size(), same ? 1U : 0U) << name << " " << other;
      EXPECT_EQ(must(store->log().find_value(id, name, {})).has_value(), same);
      EXPECT_EQ(must(store->log().checkpoints(id, {.label = name})).size(), same ? 1U : 0U);
      EXPECT_EQ(must(store->log().checkpoints(id, {.metadata = {{name, name}}})).size(),
                same ? 1U : 0U);
    }
  }
}

// A filter is no name: what no name can be matches nothing.
TEST_P(HostileNames, AFilterThatCannotMatchFindsNothing) {
  const auto before = everything(*store);
  for (const std::string& name : bad_names()) {
    EXPECT_THAT(must(store->sessions().list({.tag = name})).sessions, IsEmpty());
    EXPECT_THAT(must(store->sessions().list({.contains = name})).sessions, IsEmpty());
    EXPECT_THAT(texts(session, {.channel = name}), IsEmpty());
    EXPECT_EQ(must(store->log().find_value(session, name, {})), std::nullopt);
    EXPECT_THAT(must(store->log().checkpoints(session, {.label = name})), IsEmpty());
    EXPECT_THAT(must(store->log().checkpoints(session, {.metadata = {{name, name}}})), IsEmpty());
  }
  EXPECT_EQ(must(store->log().find_value(session, "", {})), std::nullopt);
  EXPECT_EQ(everything(*store), before);
}

// The provider's id is data from outside: what it holds is no concern of the store.
TEST_P(HostileNames, AProvidersCallIdIsKeptByteForByte) {
  auto odd = bad_names();
  odd.pop_back();
  odd.emplace_back(text_bytes_max, '\xff');
  for (const std::string& id : odd) {
    Batch made = batch_of(session, {message("args")});
    const Position at = row(session).next;
    made.calls = {Intend{.call = at, .args = at, .tool = "t", .provider_id = id}};
    commit(lease, made);
    EXPECT_EQ(call(session, at).provider_id, id) << describe(id).substr(0, 100);
  }
  Batch long_one = good();
  std::get<Intend>(long_one.calls[0]).provider_id = std::string(text_bytes_max + 1, 'x');
  EXPECT_EQ(code_of(store->commit(lease, long_one)), ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace perdure
