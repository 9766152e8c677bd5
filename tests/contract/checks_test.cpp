// What is refused, with which code, and that nothing was written then.

#include "contract/store_contract.hpp"
#include "perdure/store/log.hpp"
#include "store/api/limits.hpp"
#include "store/api/lookup.hpp"

namespace perdure {
namespace {

struct Spoiled {
  std::string rule;
  ErrorCode code;
  std::function<void(Batch&)> spoil;
};

const std::string too_long(129, 'x');

std::vector<Spoiled> bad_entries() {
  const auto bad = ErrorCode::invalid_argument;
  return {
      {"no channel", bad, [](Batch& batch) { batch.entries[0].channel = ""; }},
      {"channel too long", bad, [](Batch& batch) { batch.entries[0].channel = too_long; }},
      {"channel with a line break", bad, [](Batch& batch) { batch.entries[0].channel = "a\nb"; }},
      {"channel with a space in front", bad, [](Batch& batch) { batch.entries[0].channel = " a"; }},
      {"channel that is not UTF-8", bad, [](Batch& batch) { batch.entries[0].channel = "\xff"; }},
      {"no kind", bad, [](Batch& batch) { batch.entries[0].kind = ""; }},
      {"kind too long", bad, [](Batch& batch) { batch.entries[0].kind = too_long; }},
      {"kind with a zero byte", bad,
       [](Batch& batch) { batch.entries[0].kind = std::string("a\0b", 3); }},
      {"too many entries", bad,
       [](Batch& batch) { batch.entries.resize(batch_entries_max + 1, message("x")); }},
      {"body too large", bad,
       [](Batch& batch) {
         batch.entries[0].body = Body::from_bytes(std::string(body_bytes_max + 1, 'x'));
       }},
      {"blob that was not put", bad,
       [](Batch& batch) { batch.entries[1].body = Body::from_blob({sha256("x"), 1}); }},
  };
}

std::vector<Spoiled> bad_calls() {
  const auto bad = ErrorCode::invalid_argument;
  const auto intend = [](Position call, Position args, std::string tool) {
    return Intend{.call = call, .args = args, .tool = std::move(tool)};
  };
  return {
      {"no tool", bad, [=](Batch& batch) { batch.calls = {intend(3, 3, "")}; }},
      {"tool too long", bad, [=](Batch& batch) { batch.calls = {intend(3, 3, too_long)}; }},
      {"provider id too long", bad,
       [](Batch& batch) {
         batch.calls = {Intend{.call = 3,
                               .args = 3,
                               .tool = "t",
                               .provider_id = std::string(text_bytes_max + 1, 'x')}};
       }},
      {"intent before the batch", bad, [=](Batch& batch) { batch.calls = {intend(1, 1, "t")}; }},
      {"intent after the batch", bad, [=](Batch& batch) { batch.calls = {intend(5, 3, "t")}; }},
      {"arguments after the batch", bad, [=](Batch& batch) { batch.calls = {intend(3, 5, "t")}; }},
      {"settled as intended", bad,
       [](Batch& batch) { batch.calls = {Settle{.call = 2, .state = CallState::intended}}; }},
      {"settled as dispatched", bad,
       [](Batch& batch) { batch.calls = {Settle{.call = 2, .state = CallState::dispatched}}; }},
      {"result that does not exist", bad,
       [](Batch& batch) {
         batch.calls = {Settle{.call = 2, .state = CallState::succeeded, .result = 9}};
       }},
      {"why too long", bad,
       [](Batch& batch) {
         batch.calls = {Settle{.call = 2,
                               .state = CallState::succeeded,
                               .why = std::string(text_bytes_max + 1, 'x')}};
       }},
      {"no such arrow", ErrorCode::conflict,
       [](Batch& batch) { batch.calls = {Settle{.call = 2, .state = CallState::denied}}; }},
      {"call intended twice", ErrorCode::already_exists,
       [=](Batch& batch) { batch.calls = {intend(3, 3, "t"), intend(3, 3, "t")}; }},
      {"key that another call holds", ErrorCode::conflict,
       [](Batch& batch) {
         batch.calls = {Intend{.call = 3, .args = 3, .tool = "t", .key = sha256("held")},
                        Dispatch{.call = 3}};
       }},
  };
}

std::vector<Spoiled> bad_checkpoints() {
  const auto with = [](const NewCheckpoint& checkpoint) {
    return [checkpoint](Batch& batch) { batch.checkpoint = checkpoint; };
  };
  const auto bad = ErrorCode::invalid_argument;
  return {
      {"label too long", bad, with({.label = too_long})},
      {"reason with a tab", bad, with({.reason = "a\tb"})},
      {"metadata that is not JSON", bad, with({.metadata = "{"})},
      {"metadata that is no object", bad, with({.metadata = "[]"})},
      {"no metadata", bad, with({.metadata = ""})},
      {"metadata too long", bad,
       with({.metadata = R"({"a":")" + std::string(metadata_bytes_max, 'x') + "\"}"})},
  };
}

std::vector<Spoiled> bad_rests() {
  const auto bad = ErrorCode::invalid_argument;
  const auto child = [](std::string name, std::optional<NewSession::Origin> origin = {}) {
    NewSession session{.id = session_id(std::move(name))};
    session.origin = std::move(origin);
    return session;
  };
  return {
      {"no batch id", bad, [](Batch& batch) { batch.id = {}; }},
      {"another head", ErrorCode::conflict, [](Batch& batch) { batch.expected_head = 1; }},
      {"branch from nowhere", bad, [](Batch& batch) { batch.branch_from = Point::position(99); }},
      {"branch from no version", bad, [](Batch& batch) { batch.branch_from = Point::version(1); }},
      {"wait reason too long", bad,
       [](Batch& batch) {
         batch.status = StatusChange{.wait_reason = std::string(text_bytes_max + 1, 'x')};
       }},
      {"bad annotation", bad,
       [](Batch& batch) {
         batch.annotation = Annotation{.tags = std::vector<std::string>{"ok", ""}};
       }},
      {"unknown message", ErrorCode::conflict,
       [](Batch& batch) { batch.consumed = {message_id("m1"), message_id("unknown")}; }},
      {"consumed message", ErrorCode::conflict,
       [](Batch& batch) { batch.consumed = {message_id("m1"), message_id("m0")}; }},
      {"child that exists", ErrorCode::already_exists,
       [=](Batch& batch) { batch.children = {child("c1"), child("existing")}; }},
      {"child that is the session", ErrorCode::already_exists,
       [=](Batch& batch) { batch.children = {child("session")}; }},
      {"child of nobody", ErrorCode::not_found,
       [=](Batch& batch) {
         batch.children = {child("c1"), child("c2", NewSession::Origin{session_id("nobody")})};
       }},
      {"child without an id", bad, [](Batch& batch) { batch.children = {NewSession{}}; }},
  };
}

/// A batch that would be committed as it is, and the ways to spoil it.
class RefusedBatch : public StoreContract {
 protected:
  RefusedBatch() {
    create("existing");
    say(lease, "one");
    post(session, "m0");
    Batch consuming = batch(session);
    consuming.consumed = {message_id("m0")};
    commit(lease, consuming);
    in_state(lease, CallState::dispatched, sha256("held"));
    post(session, "m1");
  }

  /// Touches everything a batch can hold.
  Batch good() {
    Batch made = batch_of(session, {message("three"), value("four")});
    made.calls = {Settle{.call = 2, .state = CallState::succeeded, .result = 3}};
    made.checkpoint = NewCheckpoint{.label = "kept"};
    made.status = StatusChange{.status = Status::waiting};
    made.annotation = Annotation{.title = "New"};
    made.consumed = {message_id("m1")};
    made.children = {NewSession{.id = session_id("new child")}};
    return made;
  }

  void expect_refused(const std::vector<Spoiled>& ways) {
    const auto before = everything(*store);
    for (const Spoiled& spoiled : ways) {
      Batch made = good();
      spoiled.spoil(made);

      EXPECT_EQ(code_of(store->commit(lease, made)), spoiled.code) << spoiled.rule;
      EXPECT_EQ(everything(*store), before) << spoiled.rule;
      EXPECT_EQ(must(store->lookup().find_receipt(session, made.id)), std::nullopt) << spoiled.rule;
    }
    commit(lease, good());
  }

  SessionId session = create("session");
  Lease lease = own(session);
};

INSTANTIATE_TEST_SUITE_P(EveryBackend, RefusedBatch, testing::ValuesIn(every_form()), name_of);

TEST_P(RefusedBatch, WithABadEntryWritesNothing) { expect_refused(bad_entries()); }

TEST_P(RefusedBatch, WithABadCallWritesNothing) { expect_refused(bad_calls()); }

TEST_P(RefusedBatch, WithABadCheckpointWritesNothing) { expect_refused(bad_checkpoints()); }

TEST_P(RefusedBatch, WithAnythingElseBadWritesNothing) { expect_refused(bad_rests()); }

TEST_P(RefusedBatch, UnderAnyOtherLeaseWritesNothing) {
  enroll("other");
  const auto before = everything(*store);
  for (const Lease& wrong :
       {Lease{session, lease.worker, lease.fence + 1},
        Lease{session, lease.worker, lease.fence - 1},
        Lease{session, worker_id("other"), lease.fence},
        Lease{session, worker_id("nobody"), lease.fence}, Lease{session, {}, 0}}) {
    EXPECT_EQ(code_of(store->commit(wrong, good())), ErrorCode::lease_lost) << describe(wrong);
    EXPECT_EQ(everything(*store), before) << describe(wrong);
  }
  EXPECT_EQ(code_of(store->commit({session_id("nobody"), lease.worker, lease.fence}, good())),
            ErrorCode::not_found);
}

TEST_P(RefusedBatch, ForAnotherHeadNamesTheHeadThatIs) {
  Batch made = good();
  made.expected_head = 99;

  EXPECT_EQ(subject_of(store->commit(lease, made)), "2");
}

TEST_P(RefusedBatch, IsJudgedInTheOrderOfTheHeader) {
  const Lease outdated{session, lease.worker, lease.fence + 1};
  Batch made = good();
  made.consumed = {message_id("unknown")};
  made.branch_from = Point::position(99);
  made.expected_head = 99;
  EXPECT_EQ(code_of(store->commit(outdated, made)), ErrorCode::lease_lost);
  EXPECT_EQ(code_of(store->commit(lease, made)), ErrorCode::conflict);
  made.expected_head = 2;
  EXPECT_EQ(code_of(store->commit(lease, made)), ErrorCode::invalid_argument);
  made.branch_from.reset();
  EXPECT_EQ(code_of(store->commit(lease, made)), ErrorCode::conflict);
  made.entries[0].kind = "";
  EXPECT_EQ(code_of(store->commit(outdated, made)), ErrorCode::invalid_argument);
}

TEST_P(StoreContract, WhatLimitsAllowIsKept) {
  const Lease lease = own(create(std::string(128, 's')));
  NewEntry entry = message("x", std::string(128, 'c'));
  entry.kind = std::string(128, 'k');
  Batch made = batch_of(lease.session, {entry});
  made.checkpoint = NewCheckpoint{.reason = std::string(128, 'r'), .label = std::string(128, 'l')};
  made.status = StatusChange{.wait_reason = std::string(text_bytes_max, 'w')};
  made.annotation = Annotation{.title = std::string(title_bytes_max, 't'),
                               .opening = std::string(text_bytes_max, 'o')};
  made.annotation->metadata = R"({"a":")" + std::string(metadata_bytes_max - 8, 'x') + "\"}";

  commit(lease, made);

  const SessionSummary session = row(lease.session);
  EXPECT_EQ(session.title, made.annotation->title);
  EXPECT_EQ(session.opening, made.annotation->opening);
  EXPECT_EQ(session.metadata, made.annotation->metadata);
  EXPECT_EQ(session.wait_reason, made.status->wait_reason);
  EXPECT_EQ(must(store->log().read_checkpoint(session.id, 1)).label, made.checkpoint->label);
  EXPECT_EQ(must(store->log().read(session.id, {})).at(0).kind, entry.kind);
}

TEST_P(StoreContract, ABadAnnotationIsRefusedWhereverItStands) {
  const SessionId session = create();
  std::vector<std::string> many;
  for (std::size_t i = 0; i <= tags_max; ++i) many.push_back("t" + std::to_string(i));
  const std::vector<Annotation> bad{
      {.title = std::string(title_bytes_max + 1, 'x')},
      {.title = "two\nlines"},
      {.title = "\xc3"},
      {.opening = std::string(text_bytes_max + 1, 'x')},
      {.opening = std::string("zero\0", 5)},
      {.tags = std::vector<std::string>{""}},
      {.tags = std::vector<std::string>{too_long}},
      {.tags = std::vector<std::string>{"twice", "twice"}},
      {.tags = many},
      {.metadata = ""},
      {.metadata = "null"},
      {.metadata = "{\"a\":1}x"},
  };
  const auto before = everything(*store);
  for (std::size_t i = 0; i < bad.size(); ++i) {
    EXPECT_EQ(code_of(store->sessions().annotate(session, bad[i])), ErrorCode::invalid_argument)
        << i;
    EXPECT_EQ(code_of(store->sessions().create({.id = session_id("new"), .annotation = bad[i]})),
              ErrorCode::invalid_argument)
        << i;
  }
  EXPECT_EQ(code_of(store->sessions().create({})), ErrorCode::invalid_argument);
  EXPECT_EQ(everything(*store), before);
}

}  // namespace
}  // namespace perdure
