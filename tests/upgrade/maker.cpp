// Makes the small store that is kept of each format:
//
//   upgrade_maker <folder>
//
// writes format-<n>.store and format-<n>.golden.txt, where n is the format this build
// writes. Until that format is released, whoever changes it in place runs this into
// tests/upgrade, checks both files in, and adds what the change brings to the load below. Once
// released they are never written again: they are what that release wrote. A new format gets a
// number of its own here and in upgrade_test.cpp; what earlier files hold does not change by that.
//
// Time and ids are counted, and the one thing that comes from the machine, the boot
// id of its workers, is replaced: the same build writes the same bytes.

#include <atomic>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include "doubles/counting_ids.hpp"
#include "doubles/fake_clock.hpp"
#include "doubles/must.hpp"
#include "perdure/store/store.hpp"
#include "perdure/store/upkeep.hpp"
#include "store/api/bundle.hpp"
#include "store/api/lookup.hpp"
#include "store/sqlite/engine/connection.hpp"
#include "store/sqlite/engine/schema.hpp"
#include "upgrade/tale.hpp"

namespace {

using namespace perdure;  // NOLINT(google-build-using-namespace): a program of its own.

SessionId session_named(const std::string& name) { return must(SessionId::parse(name)); }
MessageId message_named(const std::string& name) { return must(MessageId::parse(name)); }

NewEntry entry(std::string channel, Body body, Fold fold = Fold::append) {
  return {.channel = std::move(channel),
          .kind = fold == Fold::append ? "message" : "value",
          .fold = fold,
          .body = std::move(body),
          .tally = {},
          .at = {}};
}

NewEntry said(const std::string& text) {
  NewEntry made = entry("transcript", Body::from_text(fmt::format(R"({{"text": "{}"}})", text)));
  made.tally = {.turns = 1, .steps = 2, .tokens_in = 300, .tokens_out = 40, .cost_micros = 5'000};
  return made;
}

NewEntry plan(const std::string& text) {
  return entry("plan", Body::from_text(fmt::format(R"({{"goal":"{}"}})", text)), Fold::replace);
}

NewCheckpoint named(std::string label, std::string metadata = "{}") {
  return {.reason = "turn", .label = std::move(label), .metadata = std::move(metadata)};
}

class Maker {
 public:
  Maker(Store& store, FakeClock& clock, std::string bundle)
      : store_(store), clock_(clock), bundle_(std::move(bundle)) {
    must(store_.ownership().enroll({.id = worker_, .host = "a host", .pid = 4711}));
  }

  void make() {
    talk();
    lines();
    calls();
    statuses();
    inbox();
    forget();
    move_away();
    come_in();
    must(store_.lookup().acquire_resource("printer", worker_));
    const WorkerId other = must(WorkerId::parse("other"));
    must(store_.ownership().enroll({.id = other, .host = "a host", .pid = 4711}));
    must(store_.lookup().acquire_resource("mailbox", other));
    must(store_.ownership().retire(other));
  }

 private:
  void create(const NewSession& session) {
    clock_.advance(std::chrono::seconds(1));
    must(store_.sessions().create(session));
  }

  Receipt commit(const SessionId& session, Batch batch) {
    clock_.advance(std::chrono::seconds(1));
    must(store_.ownership().renew(worker_));
    batch.id = must(BatchId::parse(fmt::format("b{}", ++batches_)));
    batch.expected_head = must(store_.sessions().read(session)).head;
    return must(store_.commit(must(store_.ownership().acquire(session, worker_)), batch));
  }

  [[nodiscard]] Position next(const SessionId& session) {
    return must(store_.sessions().read(session)).next;
  }

  void talk() {
    create({.id = main_,
            .annotation = {.title = "A talk",
                           .opening = "hello\nthere",
                           .tags = {{"kept", "f\xc3\xbcr sp\xc3\xa4ter"}},
                           .metadata = R"({"team": {"id": 12345678901234567890}})"}});
    commit(main_, {.entries = {said("hello"), plan("be kind")},
                   .checkpoint = named("first", R"({"by": "hand", "n": 1.0})")});
    const BlobRef blob = must(store_.blobs().put(std::string(3000, 'b')));
    NewEntry dated = entry("scratchpad", Body::from_bytes(std::string("\0\xff{", 3)));
    dated.at = Timestamp(Duration(-1));
    dated.tally.cost_micros = -700;
    commit(main_, {.entries = {entry("transcript", Body::from_blob(blob)), dated,
                               entry("scratchpad", Body::from_bytes("")),
                               entry("settings", Body::from_bytes("\x80"), Fold::replace),
                               entry("picture", Body::from_blob(blob), Fold::replace)},
                   .checkpoint = named("")});
    commit(main_, {.entries = {said("odd \\ud800 and 1e400"), plan("go on")},
                   .checkpoint = named("kept")});
  }

  void lines() {
    create({.id = fork_,
            .annotation = {},
            .origin = NewSession::Origin{.session = main_, .at = Point::version(2)}});
    commit(fork_,
           {.entries = {said("or else"), plan("another way")}, .checkpoint = named("forked")});
    commit(main_, {.branch_from = Point::version(1),
                   .entries = {said("once more")},
                   .checkpoint = named("branched")});
    const NewSession::Origin origin{
        .session = main_, .at = Point::head(), .lineage = Lineage::child};
    commit(main_,
           {.entries = {said("delegate")},
            .children = {
                {.id = child_,
                 .annotation = {.title = "The child", .opening = {}, .tags = {}, .metadata = {}},
                 .origin = origin}}});
    commit(child_, {.entries = {said("do it")}, .checkpoint = named("")});
  }

  // One call in each state, with a key and without.
  void calls() {
    create({.id = calls_, .annotation = {}});
    for (const bool keyed : {true, false}) {
      for (const CallState state :
           {CallState::intended, CallState::dispatched, CallState::succeeded, CallState::failed,
            CallState::in_doubt, CallState::abandoned, CallState::denied, CallState::cancelled}) {
        call(state, keyed);
      }
    }
  }

  void call(CallState state, bool keyed) {
    const Position at = next(calls_);
    const std::string word(to_string(state));
    Batch first{.entries = {said(word)}};
    first.calls.emplace_back(
        Intend{.call = at,
               .args = at,
               .tool = "send",
               .provider_id = keyed ? "call_" + word : std::string(),
               .effect = keyed ? EffectClass::idempotent : EffectClass::unsafe,
               .key = keyed ? std::optional(sha256("key of " + word)) : std::nullopt});
    const bool starts =
        state != CallState::intended && state != CallState::denied && state != CallState::cancelled;
    if (starts) {
      first.calls.emplace_back(Dispatch{.call = at, .deadline = clock_.now() + Duration(60'000)});
    }
    if (state == CallState::abandoned) {
      first.calls.emplace_back(
          Settle{.call = at, .state = CallState::in_doubt, .result = {}, .who = {}, .why = {}});
    }
    commit(calls_, first);
    if (state == CallState::intended || state == CallState::dispatched) return;
    Settle settle{.call = at, .state = state, .result = {}, .who = "ann", .why = "two\nlines"};
    if (state == CallState::succeeded) settle.result = at + 1;
    commit(calls_, {.entries = {said("became " + word)}, .calls = {settle}});
  }

  void statuses() {
    for (const Status status :
         {Status::waiting, Status::paused, Status::completed, Status::failed, Status::cancelled}) {
      create({.id = session_named(std::string(to_string(status))),
              .annotation = {},
              .status = status,
              .wait_reason = status == Status::waiting ? "an answer" : "",
              .wake_at = status == Status::waiting ? std::optional(clock_.now() + Duration(500))
                                                   : std::nullopt});
    }
  }

  void inbox() {
    const auto post = [&](const std::string& id, Body body) {
      must(store_.inbox().post(
          {.session = main_, .id = message_named(id), .kind = "answer", .body = std::move(body)}));
    };
    post("m1", Body::from_text(R"({"yes": true})"));
    post("m2", Body::from_text(R"({"yes": false})"));
    post("m3", Body::from_bytes(std::string("\0\xfe", 2)));
    post("m4", Body::from_blob(must(store_.blobs().put(std::string(2000, 'm')))));
    commit(main_, {.entries = {said("yes")}, .consumed = {message_named("m1")}});
  }

  // What upkeep leaves: what was pruned, what forks keep of a removed session, its claim.
  void forget() {
    const SessionId trimmed = session_named("trimmed");
    create({.id = trimmed, .annotation = {}});
    for (const char* text : {"one", "two", "three"}) {
      commit(trimmed, {.entries = {said(text), plan(text)}, .checkpoint = named("")});
    }
    must(store_.upkeep().prune(trimmed, {.last = 1}));
    must(store_.upkeep().erase(trimmed, {1}));

    const SessionId gone = session_named("gone");
    const Digest key = sha256("key of one that is gone");
    create({.id = gone, .annotation = {}});
    commit(gone,
           {.entries = {said("pay")},
            .calls = {Intend{.call = 1, .args = 1, .tool = "send", .provider_id = {}, .key = key},
                      Dispatch{.call = 1, .deadline = {}}}});
    commit(gone,
           {.entries = {said("paid")},
            .calls = {Settle{
                .call = 1, .state = CallState::succeeded, .result = 2, .who = {}, .why = {}}}});
    create({.id = session_named("heir"),
            .annotation = {},
            .origin = NewSession::Origin{.session = gone, .at = Point::head()}});
    must(store_.ownership().release(must(store_.ownership().acquire(gone, worker_))));
    must(store_.upkeep().remove(gone));
    const Position at = next(calls_);
    commit(
        calls_,
        {.entries = {said("pay again")},
         .calls = {Intend{.call = at, .args = at, .tool = "send", .provider_id = {}, .key = key}}});
    must(store_.blobs().put(std::string(3000, 'b')));
  }

  // What a move leaves here: a session that says where it went.
  void move_away() {
    const SessionId moved = session_named("moved");
    create({.id = moved, .annotation = {}});
    commit(moved, {.entries = {said("farewell")}, .checkpoint = named("")});
    must(store_.ownership().release(must(store_.ownership().acquire(moved, worker_))));
    OpenOptions options;
    options.clock = &clock_;
    options.ids = &other_ids_;
    const auto other = must(open_store("memory:", options));
    must(move_sessions(store_, *other, {.sessions = {moved}, .place = "another store"}));
  }

  // What a bundle brings: a call that only claims its key, and a removed session's claim of one.
  void come_in() {
    OpenOptions options;
    options.clock = &clock_;
    options.ids = &other_ids_;
    const auto other = must(open_store("memory:", options));
    Maker strange(*other, clock_, bundle_);
    for (const char* const name : {"stranger", "gone_stranger"}) {
      const SessionId id = session_named(name);
      strange.create({.id = id, .annotation = {}});
      strange.commit(id, {.entries = {said("pay")},
                          .calls = {Intend{.call = 1,
                                           .args = 1,
                                           .tool = "send",
                                           .provider_id = {},
                                           .key = sha256(fmt::format("key of the {}", name))},
                                    Dispatch{.call = 1, .deadline = {}}}});
      strange.commit(
          id, {.entries = {said("paid")},
               .calls = {Settle{
                   .call = 1, .state = CallState::succeeded, .result = 2, .who = {}, .why = {}}}});
      must(other->ownership().release(must(other->ownership().acquire(id, worker_))));
    }
    must(other->upkeep().remove(session_named("gone_stranger")));
    must(export_sessions(*other, bundle_));
    must(import_bundle(store_, bundle_));
    std::filesystem::remove(bundle_);
  }

  Store& store_;
  FakeClock& clock_;
  const std::string bundle_;
  CountingIds other_ids_{99};
  int batches_ = 0;
  const WorkerId worker_ = must(WorkerId::parse("worker"));
  const SessionId main_ = session_named("main");
  const SessionId fork_ = session_named("fork");
  const SessionId child_ = session_named("child");
  const SessionId calls_ = session_named("calls");
};

void forget_machine(const std::string& path) {
  std::atomic<std::uint64_t> rows = 0;
  sqlite::Connection connection(path, "", SQLITE_OPEN_READWRITE, &rows);
  connection.execute("UPDATE worker SET boot = 'the boot it was made in'");
}

void make(const std::string& folder) {
  const std::string path = fmt::format("{}/format-{}.store", folder, sqlite::format_number);
  FakeClock clock;
  CountingIds ids;
  OpenOptions options;
  options.clock = &clock;
  options.ids = &ids;
  {
    const auto store = must(open_store("sqlite:" + path, options));
    Maker(*store, clock, path + ".bundle").make();
  }
  forget_machine(path);
  FakeClock later{Timestamp(std::chrono::sys_days{std::chrono::year{2026} / 6 / 1})};
  options.clock = &later;
  std::ofstream golden(fmt::format("{}/format-{}.golden.txt", folder, sqlite::format_number));
  golden << tell(*must(open_store("sqlite:" + path, options)));
  std::filesystem::remove(path + "-lock");
}

}  // namespace

int main(int count, char** words) {
  const std::span<char*> arguments(words, static_cast<std::size_t>(count));
  if (arguments.size() != 2) {
    std::cerr << "usage: upgrade_maker FOLDER\n";
    return 2;
  }
  try {
    make(arguments[1]);
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
  return 0;
}
