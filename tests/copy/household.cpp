// Names and times are fixed: the same store, whichever backend it is made in.

#include "copy/household.hpp"

#include <fmt/format.h>
#include <map>
#include <set>
#include <utility>

#include "contract/describe.hpp"
#include "doubles/must.hpp"
#include "store/api/limits.hpp"
#include "store/api/lookup.hpp"

namespace perdure {
namespace {

constexpr int batches_max = 80;

SessionId session_named(const std::string& name) { return must(SessionId::parse(name)); }
MessageId message_named(const std::string& name) { return must(MessageId::parse(name)); }
BatchId batch_named(int number) { return must(BatchId::parse(fmt::format("b{}", number))); }
Digest key_named(const std::string& name) { return sha256("key of " + name); }

NewEntry entry(std::string channel, Body body, Fold fold = Fold::append) {
  NewEntry made;
  made.channel = std::move(channel);
  made.kind = fold == Fold::append ? "message" : "value";
  made.fold = fold;
  made.body = std::move(body);
  return made;
}

NewEntry household_said(const std::string& text) {
  NewEntry made = entry("transcript", Body::from_text(fmt::format(R"({{"text": "{}"}})", text)));
  made.tally = {.turns = 1, .steps = 2, .tokens_in = 300, .tokens_out = 40, .cost_micros = 5'000};
  return made;
}

NewEntry household_plan(const std::string& text) {
  return entry("plan", Body::from_text(fmt::format(R"({{"goal":"{}"}})", text)), Fold::replace);
}

class Furnisher {
 public:
  Furnisher(Store& store, FakeClock& clock) : store_(store), clock_(clock) {
    must(store_.ownership().enroll(
        {.id = worker_, .host = "host", .pid = 7, .lease_time = lease_time_max}));
  }

  void furnish(Size size) {
    talk();
    calls();
    relatives();
    forgotten();
    others();
    if (size != Size::small) many();
    if (size == Size::crowded) crowd();
    must(store_.lookup().acquire_resource("printer", worker_));
    must(store_.ownership().retire(worker_));
  }

 private:
  SessionId create(const NewSession& session) {
    clock_.advance(std::chrono::seconds(1));
    must(store_.sessions().create(session));
    return session.id;
  }

  SessionId fork(const std::string& name, const SessionId& of, Point at) {
    return create({.id = session_named(name), .origin = NewSession::Origin{of, at}});
  }

  void commit(const SessionId& session, Batch batch) {
    clock_.advance(std::chrono::seconds(1));
    batch.id = batch_named(++batches_);
    batch.expected_head = must(store_.sessions().read(session)).head;
    must(store_.commit(must(store_.ownership().acquire(session, worker_)), batch));
  }

  void post(const SessionId& session, const std::string& id, Body body) {
    must(store_.inbox().post(
        {.session = session, .id = message_named(id), .kind = "note", .body = std::move(body)}));
  }

  void talk() {
    create({.id = main_,
            .annotation = {.title = "A talk",
                           .opening = "hello\nthere",
                           .tags = {{"kept", "f\xc3\xbcr sp\xc3\xa4ter"}},
                           .metadata = R"({"team": {"id": 12345678901234567890}})"}});
    commit(main_, {.entries = {household_said("hello"), household_plan("be kind")},
                   .checkpoint = NewCheckpoint{.label = "first", .metadata = R"({"n": 1.0})"}});
    const BlobRef blob = must(store_.blobs().put(std::string(300'000, 'b')));
    NewEntry dated = entry("scratchpad", Body::from_bytes(std::string("\0\xff{", 3)));
    dated.at = Timestamp(Duration(-1));
    dated.tally.cost_micros = -700;
    commit(main_, {.entries = {entry("files", Body::from_blob(blob)), dated,
                               entry("scratchpad", Body::from_bytes(""))},
                   .checkpoint = NewCheckpoint{.reason = "turn"}});
    commit(main_, {.entries = {household_said("go on"), household_plan("go on")},
                   .checkpoint = NewCheckpoint{}});
    for (const char* id : {"m1", "m2"}) post(main_, id, Body::from_text(R"({"yes": true})"));
    post(main_, "m3", Body::from_bytes(std::string("\0\xfe", 2)));
    post(main_, "m4", Body::from_blob(must(store_.blobs().put(std::string(2000, 'm')))));
    // A branch without an entry, then one with.
    commit(main_, {.branch_from = Point::version(1)});
    commit(main_, {.branch_from = Point::version(2),
                   .entries = {household_said("once more")},
                   .checkpoint = NewCheckpoint{.label = "branched"},
                   .status = StatusChange{.status = Status::waiting, .wait_reason = "an answer"},
                   .consumed = {message_named("m2")}});
  }

  // One call in each state, with a key and without.
  void calls() {
    create({.id = calls_});
    for (const CallState state :
         {CallState::intended, CallState::dispatched, CallState::succeeded, CallState::failed,
          CallState::in_doubt, CallState::abandoned, CallState::denied, CallState::cancelled}) {
      for (const bool keyed : {true, false}) call(calls_, state, keyed);
    }
  }

  void call(const SessionId& session, CallState state, bool keyed) {
    const Position at = must(store_.sessions().read(session)).next;
    const std::string name = fmt::format("{} {}", session.text(), to_string(state));
    Batch first{.entries = {household_said(name)}};
    first.calls.emplace_back(Intend{.call = at,
                                    .args = at,
                                    .tool = "send",
                                    .provider_id = keyed ? std::string("\xff\0id", 4) : "",
                                    .effect = keyed ? EffectClass::verifiable : EffectClass::unsafe,
                                    .key = keyed ? std::optional(key_named(name)) : std::nullopt});
    const bool starts =
        state != CallState::intended && state != CallState::denied && state != CallState::cancelled;
    if (starts) {
      first.calls.emplace_back(Dispatch{.call = at, .deadline = clock_.now() + Duration(60'000)});
    }
    if (state == CallState::abandoned) {
      first.calls.emplace_back(Settle{.call = at, .state = CallState::in_doubt});
    }
    commit(session, first);
    if (state == CallState::intended || state == CallState::dispatched) return;
    Settle settle{.call = at, .state = state, .who = "ann", .why = "two\nlines"};
    if (state == CallState::succeeded) settle.result = at + 1;
    commit(session, {.entries = {household_said("became")}, .calls = {settle}});
  }

  void relatives() {
    const SessionId forked = fork("fork", main_, Point::version(3));
    commit(forked, {.entries = {household_said("or else"), household_plan("another way")}});
    fork("fork of fork", forked, Point::head());
    const NewSession::Origin origin{main_, Point::head(), Lineage::child};
    commit(main_, {.entries = {household_said("delegate")},
                   .children = {{.id = session_named("child"), .origin = origin}}});
  }

  void forgotten() {
    const SessionId trimmed = create({.id = session_named("trimmed")});
    for (int turn = 0; turn < 5; ++turn) {
      commit(trimmed, {.entries = {household_said("turn"), household_plan("turn")},
                       .checkpoint = NewCheckpoint{}});
    }
    must(store_.upkeep().prune(trimmed, {.last = 2}));
    must(store_.upkeep().erase(trimmed, {1, 5}));

    const SessionId gone = create({.id = session_named("gone")});
    commit(gone, {.entries = {household_said("shared"), household_plan("old")}});
    commit(gone, {.entries = {household_plan("new"), household_said("alone")}});
    call(gone, CallState::succeeded, true);
    const SessionId heir = fork("heir", gone, Point::position(3));
    commit(heir, {.entries = {household_said("goes on")}});
    commit(heir, {.branch_from = Point::position(2), .entries = {household_said("otherwise")}});
    remove(gone);
    const SessionId vanished = create({.id = session_named("vanished")});
    call(vanished, CallState::abandoned, true);
    remove(vanished);
  }

  void remove(const SessionId& session) {
    must(store_.ownership().release(must(store_.ownership().acquire(session, worker_))));
    must(store_.upkeep().remove(session));
  }

  void others() {
    create({.id = session_named("empty"), .status = Status::completed});
    const SessionId paused = create({.id = session_named("paused")});
    commit(paused, {.status = StatusChange{.status = Status::waiting,
                                           .wait_reason = "time",
                                           .wake_at = clock_.now() + std::chrono::hours(1)}});
  }

  void many() {
    const SessionId many = create({.id = session_named("many")});
    Batch batch;
    for (int i = 0; i < 1300; ++i) batch.entries.push_back(household_said(std::to_string(i)));
    commit(many, batch);
    Batch large;
    for (int i = 0; i < 3; ++i) {
      large.entries.push_back(entry("files", Body::from_bytes(std::string(3'000'000, 'x'))));
    }
    commit(many, large);
    for (int i = 0; i < 700; ++i) {
      post(many, fmt::format("n{}", (i * 389) % 700), Body::from_text(std::to_string(i)));
    }
  }

  void crowd() {
    for (int i = 0; i < 600; ++i) create({.id = session_named(fmt::format("small {}", i))});
  }

  Store& store_;
  FakeClock& clock_;
  int batches_ = 0;
  const WorkerId worker_ = must(WorkerId::parse("furnisher"));
  const SessionId main_ = session_named("main");
  const SessionId calls_ = session_named("calls");
};

class Portrait {
 public:
  explicit Portrait(Store& store) : store_(store) {}

  std::string draw() {
    SessionQuery all;
    all.sort = SessionSort::created;
    all.descending = false;
    all.limit = limit_max;
    for (SessionSummary session : must(store_.sessions().list(all)).sessions) draw(session);
    std::set<Digest> keys{key_named("gone succeeded"), key_named("vanished abandoned")};
    for (const Call& call : must(store_.ledger().list({.limit = limit_max}))) {
      line("call", call);
      if (call.key) keys.insert(*call.key);
    }
    for (const Digest& key : keys) {
      line("held by", must(store_.ledger().find_holder(key)));
      line("ever", must(store_.lookup().by_key(key)));
    }
    return std::move(text_);
  }

 private:
  template <class T>
  void line(std::string_view what, const T& value) {
    text_ += fmt::format("{} {}\n", what, describe(value));
  }

  void draw(SessionSummary& session) {
    session.holder.reset();
    session.revision = 0;
    session.moved_to.clear();
    line("session", session);
    line("restored", session.restored);
    line("line", segments(store_.lookup().line(session.id, Point::head())));
    for (Position at = 1; at < session.next; ++at) draw_position(session.id, at);
    line("versions", store_.log().checkpoints(session.id, {}));
    for (Version version = 1; version <= session.version; ++version) {
      line("as of", segments(store_.lookup().line(session.id, Point::version(version))));
    }
    line("plan", entries(store_.log().find_value(session.id, "plan", Point::head())));
    const auto messages = must(store_.inbox().list(session.id, limit_max));
    line("inbox", messages);
    for (const InboxMessage& message : messages) draw_blob(message.body);
    const bool has_commits = session.updated_at != session.created_at;
    for (int number = 1; has_commits && number <= batches_max; ++number) {
      const auto receipt = must(store_.lookup().find_receipt(session.id, batch_named(number)));
      if (receipt) line("receipt", receipt);
    }
  }

  void draw_position(const SessionId& session, Position at) {
    LogQuery query;
    query.as_of = Point::position(at);
    query.from = at;
    auto found = store_.log().read(session, query);
    if (!found) return line("at", found);
    for (Entry& entry : *found) {
      renumber(entry);
      line("at", entry);
      draw_blob(entry.body);
    }
  }

  void draw_blob(const Body& body) {
    if (const auto ref = body.blob())
      line("blob", sha256(must(store_.blobs().get(*ref))) == ref->digest);
  }

  Result<std::vector<Segment>> segments(Result<std::vector<Segment>> line) {
    if (!line) return line;
    for (Segment& segment : *line) {
      segment.id = number(segment.id);
      if (segment.parent) segment.parent = number(*segment.parent);
    }
    return line;
  }

  Result<std::optional<Entry>> entries(Result<std::optional<Entry>> value) {
    if (value && *value) renumber(**value);
    return value;
  }

  void renumber(Entry& entry) { entry.segment = number(entry.segment); }

  SegmentId number(SegmentId segment) {
    return numbers_.emplace(segment, numbers_.size() + 1).first->second;
  }

  Store& store_;
  std::map<SegmentId, SegmentId> numbers_;
  std::string text_;
};

}  // namespace

void furnish(Store& store, FakeClock& clock, Size size) { Furnisher(store, clock).furnish(size); }

std::string portrait(Store& store) { return Portrait(store).draw(); }

std::vector<std::string> runnable(Store& store) {
  std::vector<std::string> names;
  SessionQuery all;
  all.sort = SessionSort::created;
  all.limit = limit_max;
  for (const SessionSummary& session : must(store.sessions().list(all)).sessions) {
    if (session.moved_to.empty()) names.push_back(session.id.text());
  }
  return names;
}

}  // namespace perdure
