// Positions are counted here, not asked for: a store that gave others would be found
// out by the receipts, which are part of every answer.

#include "crash/script.hpp"

#include <fmt/format.h>
#include <utility>

#include "contract/describe.hpp"
#include "store/api/lookup.hpp"
#include "store/rules/checks.hpp"

namespace perdure {
namespace {

template <class IdType>
IdType id(const std::string& text) {
  return *IdType::parse(text);
}

const SessionId& main_session() {
  static const auto session = id<SessionId>("main");
  return session;
}

const SessionId& fork_session() {
  static const auto session = id<SessionId>("fork");
  return session;
}

const SessionId& child_session() {
  static const auto session = id<SessionId>("child");
  return session;
}

// In the order of the script; `lost` is refused and leaves no receipt.
constexpr std::string_view main_batches[] = {"hello", "answer", "large",  "intend", "settle",
                                             "risky", "doubt",  "branch", "spawn",  "resolve",
                                             "many",  "lost",   "done"};
constexpr std::string_view fork_batches[] = {"other way", "other call"};
constexpr std::string_view child_batches[] = {"task", "report"};

NewEntry said(const std::string& text) {
  return {.channel = "transcript",
          .kind = "message",
          .fold = Fold::append,
          .body = Body::from_text(Json(Json::Object{{"role", "user"}, {"text", text}}).text()),
          .tally = {.turns = 1, .steps = 2, .tokens_in = 30, .tokens_out = 40, .cost_micros = 500},
          .at = {}};
}

NewEntry raw(const std::string& channel, Fold fold, Body body) {
  return {.channel = channel,
          .kind = "value",
          .fold = fold,
          .body = std::move(body),
          .tally = {},
          .at = {}};
}

NewEntry plan(const std::string& text) {
  return raw("plan", Fold::replace, Body::from_text(fmt::format(R"({{"goal": "{}"}})", text)));
}

NewCheckpoint named(std::string label) {
  return {.reason = "turn", .label = std::move(label), .metadata = R"({"by": "script"})"};
}

}  // namespace

Script::Script(Store& store, FakeClock& clock, WorkerId worker, Load load)
    : store_(store), clock_(clock), worker_(std::move(worker)), blob_(blob(load)) {}

std::vector<SessionId> Script::sessions() {
  return {main_session(), fork_session(), child_session()};
}

std::vector<std::pair<SessionId, BatchId>> Script::batches() {
  std::vector<std::pair<SessionId, BatchId>> all;
  const auto add = [&](const SessionId& session, const auto& names) {
    for (const auto name : names) all.emplace_back(session, id<BatchId>(std::string(name)));
  };
  add(main_session(), main_batches);
  add(fork_session(), fork_batches);
  add(child_session(), child_batches);
  return all;
}

std::string Script::blob(Load load) {
  const std::size_t size = load == Load::small ? 20'000 : 4'300'000;
  std::string bytes;
  for (int i = 0; bytes.size() < size; ++i) bytes += fmt::format("line {}\n", i);
  return bytes;
}

void Script::run(const Report& report) {
  report_ = report;
  opening();
  effects();
  lines();
  ending();
}

void Script::step(std::string name, const std::function<Result<std::string>()>& act, Sync sync) {
  if (stopped_) return;
  ++number_;
  clock_.set_wall(Timestamp(std::chrono::sys_days{std::chrono::year{2026} / 2 / 1}) +
                  Duration(1000 * number_));
  report_(number_, Action{.name = std::move(name), .answer = act(), .sync = sync});
}

Result<Lease> Script::lease(const SessionId& session) {
  if (const auto found = leases_.find(session); found != leases_.end()) return found->second;
  auto lease = store_.ownership().acquire(session, worker_);
  if (!lease) return lease;
  leases_.emplace(session, *lease);
  if (granted_) granted_(*lease);
  return lease;
}

void Script::create(std::string name, const NewSession& session) {
  step(std::move(name), [&]() -> Result<std::string> {
    auto created = store_.sessions().create(session);
    // A killed run may have created it; the portrait of the store tells whether it is the same.
    if (!created && created.error().code != ErrorCode::already_exists) return forward(created);
    return "created";
  });
}

void Script::commit(std::string name, const SessionId& session, Batch batch) {
  batch.id = id<BatchId>(name);
  batch.expected_head = heads_[session];
  const auto act = [&]() -> Result<std::string> {
    auto held = lease(session);
    if (!held) return forward(held);
    auto receipt = store_.commit(*held, batch);
    if (!receipt) return forward(receipt);
    heads_[session] = receipt->head;
    nexts_[session] = receipt->first + receipt->count;
    return describe(*receipt);
  };
  step(std::move(name), act, rules::sync_of(batch));
}

void Script::opening() {
  create("create main", {.id = main_session(), .annotation = {}});
  nexts_[main_session()] = 1;
  commit("hello", main_session(),
         {.entries = {said("hello"), said("good day"), plan("be kind")},
          .checkpoint = named(""),
          .annotation = Annotation{
              .title = "A script", .opening = "hello", .tags = {{"crash"}}, .metadata = {}}});
  step("post", [&]() -> Result<std::string> {
    auto posted = store_.inbox().post({.session = main_session(),
                                       .id = id<MessageId>("question"),
                                       .kind = "user",
                                       .body = Body::from_text(R"({"text": "and now?"})")});
    if (!posted) return forward(posted);
    return "posted";
  });
  commit(
      "answer", main_session(),
      {.entries = {said("and now?")},
       .checkpoint = named("asked"),
       .status = StatusChange{.status = Status::waiting, .wait_reason = "an answer", .wake_at = {}},
       .consumed = {id<MessageId>("question")}});
  step("put", [&]() -> Result<std::string> {
    auto put = store_.blobs().put(blob_);
    if (!put) return forward(put);
    return describe(*put);
  });
  const BlobRef ref{.digest = sha256(blob_), .size = blob_.size()};
  commit("large", main_session(),
         {.entries = {raw("transcript", Fold::append, Body::from_blob(ref)),
                      raw("scratchpad", Fold::append, Body::from_bytes(std::string("\0\xFF{", 3)))},
          .status = StatusChange{}});
}

void Script::effects() {
  const SessionId& session = main_session();
  const Position paid = next(session);
  commit("intend", session,
         {.entries = {said("pay")},
          .calls = {Intend{.call = paid,
                           .args = paid,
                           .tool = "pay",
                           .provider_id = "call_1",
                           .effect = EffectClass::idempotent,
                           .key = sha256("key 1")},
                    Dispatch{.call = paid, .deadline = {}}},
          .sync = Sync::later});
  commit("settle", session,
         {.entries = {said("paid"), plan("rest")},
          .calls = {Settle{.call = paid,
                           .state = CallState::succeeded,
                           .result = next(session),
                           .who = {},
                           .why = {}}},
          .checkpoint = named("paid")});
  risky_ = next(session);
  commit("risky", session,
         {.entries = {said("send")},
          .calls = {Intend{.call = risky_,
                           .args = risky_,
                           .tool = "send",
                           .provider_id = {},
                           .effect = EffectClass::unsafe,
                           .key = sha256("key 2")},
                    Dispatch{.call = risky_, .deadline = Timestamp(Duration(5))}},
          .sync = Sync::later});
  commit("doubt", session,
         {.calls = {Settle{.call = risky_,
                           .state = CallState::in_doubt,
                           .result = {},
                           .who = {},
                           .why = "killed"}}});
}

void Script::lines() {
  const SessionId& main = main_session();
  create("create fork", {.id = fork_session(),
                         .annotation = {},
                         .origin = NewSession::Origin{.session = main, .at = Point::version(2)}});
  heads_[fork_session()] = 4;
  nexts_[fork_session()] = 5;
  commit("other way", fork_session(),
         {.entries = {said("or else"), plan("fork")}, .checkpoint = named("forked")});
  commit("branch", main,
         {.branch_from = Point::version(1),
          .entries = {said("once more")},
          .checkpoint = named("branched")});
  commit("spawn", main,
         {.entries = {said("delegate")},
          .children = {{.id = child_session(),
                        .annotation =
                            Annotation{.title = "child", .opening = {}, .tags = {}, .metadata = {}},
                        .origin =
                            NewSession::Origin{
                                .session = main, .at = Point::head(), .lineage = Lineage::child}}},
          .sync = Sync::later});
  nexts_[child_session()] = 1;
  commit("task", child_session(), {.entries = {said("do it"), plan("do it")}});
  const Position call = next(fork_session());
  commit("other call", fork_session(),
         {.entries = {said("pay")},
          .calls = {Intend{.call = call,
                           .args = call,
                           .tool = "pay",
                           .provider_id = {},
                           .effect = EffectClass::verifiable,
                           .key = sha256("key 3")},
                    Dispatch{.call = call, .deadline = {}}}});
  commit("report", child_session(),
         {.entries = {said("done")},
          .checkpoint = named(""),
          .status = StatusChange{.status = Status::completed, .wait_reason = {}, .wake_at = {}},
          .sync = Sync::later});
}

void Script::ending() {
  const SessionId& main = main_session();
  commit("resolve", main,
         {.entries = {said("give up")},
          .calls = {Settle{.call = risky_,
                           .state = CallState::abandoned,
                           .result = {},
                           .who = "ann",
                           .why = "gone"}}});
  step("sync", [&]() -> Result<std::string> {
    auto synced = store_.sync();
    if (!synced) return forward(synced);
    return "synced";
  });
  Batch many{.entries = {}, .checkpoint = named("")};
  for (int i = 0; i < 40; ++i)
    many.entries.push_back(said(fmt::format("{}: {}", i, std::string(1000, 'x'))));
  commit("many", main, many);
  // The key is held by the call that was abandoned: refused, and no trace of it.
  const Position twin = next(main);
  commit("lost", main,
         {.entries = {said("send again")},
          .calls = {Intend{.call = twin,
                           .args = twin,
                           .tool = "send",
                           .provider_id = {},
                           .effect = EffectClass::unsafe,
                           .key = sha256("key 2")},
                    Dispatch{.call = twin, .deadline = {}}}});
  commit("done", main,
         {.entries = {said("bye")},
          .checkpoint = named("end"),
          .status = StatusChange{.status = Status::completed, .wait_reason = {}, .wake_at = {}}});
}

}  // namespace perdure
