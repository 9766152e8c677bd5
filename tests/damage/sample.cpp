// Bodies are of all sizes, so that pages of every kind are in the file: rows that fit a
// page, rows that run over, trees of more than one level.

#include "damage/sample.hpp"

#include <filesystem>
#include <fmt/format.h>
#include <stdexcept>

#include "contract/describe.hpp"
#include "doubles/counting_ids.hpp"
#include "doubles/fake_clock.hpp"
#include "doubles/must.hpp"
#include "doubles/temp_folder.hpp"
#include "perdure/store/store.hpp"
#include "store/api/limits.hpp"
#include "store/api/lookup.hpp"

namespace perdure {
namespace {

// Text that no page can hold a second time by chance.
std::string prose(int seed, std::size_t size) {
  std::string text;
  while (text.size() < size) text += fmt::format("{:x} ", (seed += 7919) * 2654435761U);
  text.resize(size);
  return text;
}

class Author {
 public:
  /// Authors of the same store have different numbers.
  Author(const std::string& path, unsigned number)
      : names_(number),
        worker_(must(WorkerId::parse(fmt::format("wrk_author_{}", number)))),
        seed_(static_cast<int>(number) * 1000),
        store_(must(open_store(path, {.clock = &clock_, .ids = &ids_}))) {
    must(store_->ownership().enroll(
        {.id = worker_, .host = "host", .pid = 7, .lease_time = lease_time_max}));
  }

  Store& store() { return *store_; }
  Named& named() { return named_; }

  SessionId create(NewSession session) {
    const SessionId id = session.id;
    must(store_->sessions().create(session));
    named_.sessions.push_back(id);
    return id;
  }

  static SessionId id(const std::string& text) { return must(SessionId::parse(text)); }

  Lease own(const SessionId& session) {
    return must(store_->ownership().acquire(session, worker_));
  }

  Receipt commit(const Lease& lease, Batch batch) {
    clock_.advance(std::chrono::milliseconds(1234));
    batch.id = mint<BatchTag>(names_);
    batch.expected_head = must(store_->sessions().read(lease.session)).head;
    named_.receipts.emplace_back(lease.session, batch.id);
    return must(store_->commit(lease, batch));
  }

  NewEntry say(std::size_t size) {
    return {
        .channel = "transcript",
        .kind = "message",
        .body = Body::from_text(fmt::format("{{\"text\":\"{}\"}}", prose(++seed_, size))),
        .tally = {.turns = 1, .steps = 2, .tokens_in = 300, .tokens_out = 40, .cost_micros = 5}};
  }

  NewEntry plan() {
    return {.channel = "plan",
            .kind = "plan",
            .fold = Fold::replace,
            .body = Body::from_bytes(prose(++seed_, 90))};
  }

  NewEntry blob(std::size_t size) {
    const BlobRef ref = must(store_->blobs().put(prose(++seed_, size)));
    named_.blobs.push_back(ref);
    return {.channel = "files", .kind = "file", .body = Body::from_blob(ref)};
  }

  // One turn with a call that ends in `state`.
  void call(const Lease& lease, CallState state) {
    const Digest key = sha256(prose(++seed_, 9));
    named_.keys.push_back(key);
    Batch intent;
    intent.entries = {say(200)};
    const Position at = must(store_->sessions().read(lease.session)).next;
    const Intend intend{.call = at, .args = at, .tool = "pay", .provider_id = "p", .key = key};
    intent.calls.emplace_back(intend);
    if (state != CallState::intended && state != CallState::denied) {
      intent.calls.emplace_back(Dispatch{.call = at, .deadline = {}});
    }
    commit(lease, intent);
    if (state == CallState::intended || state == CallState::dispatched) return;
    Batch outcome;
    outcome.entries = {say(100)};
    const bool is_done = state == CallState::succeeded;
    const Settle settle{.call = at,
                        .state = state,
                        .result = is_done ? std::optional(at + 1) : std::nullopt,
                        .who = "someone",
                        .why = "because"};
    outcome.calls.emplace_back(settle);
    commit(lease, outcome);
  }

  void checkpoint(const Lease& lease, const std::string& label) {
    Batch batch;
    batch.checkpoint = NewCheckpoint{
        .reason = "turn", .label = label, .metadata = fmt::format("{{\"n\":{}}}", ++seed_)};
    commit(lease, batch);
  }

  void post(const SessionId& session, const std::string& id, Body body) {
    must(store_->inbox().post({.session = session,
                               .id = must(MessageId::parse(id)),
                               .kind = "note",
                               .body = std::move(body)}));
  }

 private:
  FakeClock clock_;
  CountingIds ids_;
  CountingIds names_;
  const WorkerId worker_;
  Named named_;
  int seed_;
  std::unique_ptr<Store> store_;
};

void write_long(Author& author) {
  const Lease lease = author.own(author.create({.id = Author::id("ses_long"),
                                                .annotation = {.title = "A long one",
                                                               .opening = "How it began",
                                                               .tags = {{"a", "b"}},
                                                               .metadata = R"({"k":1})"}}));
  for (int turn = 0; turn < 25; ++turn) {
    Batch batch;
    batch.entries = {author.say(300), author.say(turn % 8 == 3 ? 21'000 : 500)};
    if (turn % 4 == 0) batch.entries.push_back(author.plan());
    author.commit(lease, batch);
    if (turn % 3 == 0) author.checkpoint(lease, turn % 2 == 0 ? fmt::format("v{}", turn) : "");
  }
  for (const CallState state :
       {CallState::intended, CallState::dispatched, CallState::succeeded, CallState::failed,
        CallState::in_doubt, CallState::abandoned, CallState::denied}) {
    if (state == CallState::abandoned) continue;
    author.call(lease, state);
  }
  Batch files;
  files.entries = {author.blob(9'000), author.blob(30'000), author.blob(50)};
  author.commit(lease, files);
  Batch branch;
  branch.branch_from = Point::version(4);
  branch.entries = {author.say(400), author.plan(), author.say(700)};
  author.commit(lease, branch);
  author.checkpoint(lease, "branched");
}

void write_relatives(Author& author) {
  const SessionId parent = Author::id("ses_long");
  const Lease fork = author.own(author.create(
      {.id = Author::id("ses_fork"), .origin = {{.session = parent, .at = Point::version(3)}}}));
  for (int turn = 0; turn < 6; ++turn) {
    Batch batch;
    batch.entries = {author.say(300), author.plan()};
    author.commit(fork, batch);
  }
  author.checkpoint(fork, "");
  author.create({.id = Author::id("ses_child"),
                 .status = Status::completed,
                 .origin = {{.session = parent, .at = {}, .lineage = Lineage::child}}});
}

void write_small(Author& author) {
  for (int number = 0; number < 12; ++number) {
    const SessionId id = author.create(
        {.id = Author::id(fmt::format("ses_small_{}", number)),
         .annotation = {.title = fmt::format("Small {}", number), .metadata = "{\"x\":true}"}});
    const Lease lease = author.own(id);
    Batch batch;
    batch.entries = {author.say(250), author.say(4'000)};
    author.commit(lease, batch);
    Batch end;
    end.entries = {author.plan()};
    end.checkpoint = NewCheckpoint{.reason = "end"};
    end.status = StatusChange{.status = number % 2 == 0 ? Status::completed : Status::waiting,
                              .wait_reason = "for you"};
    author.commit(lease, end);
    author.post(id, "one", Body::from_text("{\"say\":\"hello\"}"));
    author.post(id, "two", Body::from_bytes(prose(number, 300)));
    if (number % 3 == 0) must(author.store().ownership().release(lease));
  }
  Batch taken;
  taken.entries = {author.say(100)};
  taken.consumed = {must(MessageId::parse("one"))};
  author.commit(author.own(Author::id("ses_small_5")), taken);
}

void copy_files(const std::string& from, const std::string& to) {
  for (const char* end : {"", "-wal", "-lock"}) {
    if (std::filesystem::exists(from + end)) std::filesystem::copy_file(from + end, to + end);
  }
}

// Apart: what a session is called and by whom it is run, which nothing else in the file bears out,
// and what its log does.
void add_row(Answers& answers, const std::string& name, Result<SessionSummary> session) {
  if (!session) {
    answers[name + "row"] = describe(session.error());
    return;
  }
  if (session->holder) session->holder->alive = false;
  SessionSummary sum;
  sum.id = session->id;
  std::swap(sum.head, session->head);
  std::swap(sum.next, session->next);
  std::swap(sum.version, session->version);
  std::swap(sum.tally, session->tally);
  std::swap(sum.attention, session->attention);
  answers[name + "sum"] = describe(sum);
  SessionSummary words;
  std::swap(words.title, session->title);
  std::swap(words.opening, session->opening);
  std::swap(words.tags, session->tags);
  std::swap(words.metadata, session->metadata);
  answers[name + "words free"] = describe(words);
  answers[name + "state free"] = describe(*session);
}

void add_versions(Answers& answers, const std::string& name,
                  const Result<std::vector<Checkpoint>>& versions) {
  if (!versions) answers[name + "versions"] = describe(versions.error());
  for (Checkpoint version : versions ? *versions : std::vector<Checkpoint>{}) {
    const std::string at = fmt::format("{}named {:02}", name, version.version);
    answers[at + " free"] = describe(version);
    version.reason = version.label = version.metadata = {};
    answers[at] = describe(version);
  }
}

void add_calls(Answers& answers, const std::string& name, const Result<std::vector<Call>>& calls) {
  if (!calls) answers[name + "calls"] = describe(calls.error());
  for (const Call& call : calls ? *calls : std::vector<Call>{}) {
    const std::string at = fmt::format("{}call {:04}", name, call.position);
    answers[at + " free"] = describe(call);
    Call kept;
    kept.position = call.position;
    kept.args = call.args;
    kept.result = call.result;
    kept.key = call.key;
    kept.state = call.state;
    kept.attempts = call.attempts;
    kept.failures = call.failures;
    kept.intended_at = call.intended_at;
    answers[at] = describe(kept);
  }
}

}  // namespace

Answers ask_everything(Store& store, const Named& named) {
  Answers answers;
  for (const SessionId& id : named.sessions) {
    const std::string name = id.text() + " ";
    add_row(answers, name, store.sessions().read(id));
    const auto entries = store.log().read(id, {});
    answers[name + "line"] = describe(store.lookup().line(id, Point::head()));
    if (entries) {
      for (const Entry& entry : *entries) {
        answers[fmt::format("{}entry {:04}", name, entry.position)] = describe(entry);
      }
    } else {
      answers[name + "entries"] = describe(entries.error());
    }
    answers[name + "plan"] = describe(store.log().find_value(id, "plan", Point::head()));
    add_versions(answers, name, store.log().checkpoints(id, {}));
    add_calls(answers, name, store.ledger().list({.session = id}));
    answers[name + "inbox free"] = describe(store.inbox().list(id, 100));
    for (Version version = 1; version <= 12; ++version) {
      LogQuery query{.as_of = Point::version(version), .order = Order::newest_first, .limit = 2};
      answers[fmt::format("{}version {:02}", name, version)] =
          describe(store.log().read(id, query));
    }
  }
  for (const auto& [session, batch] : named.receipts) {
    answers["receipt " + batch.text()] = describe(store.lookup().find_receipt(session, batch));
  }
  for (const BlobRef& ref : named.blobs) {
    answers["blob " + to_hex(ref.digest)] = describe(store.blobs().get(ref));
  }
  for (const Digest& key : named.keys) {
    answers["key " + to_hex(key)] = describe(store.ledger().find_holder(key));
  }
  const auto page = store.sessions().list({.sort = SessionSort::created, .limit = 1000});
  for (const SessionSummary& session : page ? page->sessions : std::vector<SessionSummary>{}) {
    add_row(answers, session.id.text() + " listed ", session);
  }
  if (!page) answers["listed"] = describe(page.error());
  return answers;
}

Named fill_sample(const std::string& location) {
  Author author(location, 1);
  write_long(author);
  write_relatives(author);
  write_small(author);
  return author.named();
}

Sample make_sample(const std::string& path, bool in_wal) {
  const TempFolder folder = TempFolder::in_memory();
  const std::string working = folder.file("store.db");
  Sample sample{.named = fill_sample(working)};
  if (!in_wal) {
    copy_files(working, path);
    sample.answers = ask_everything(*must(open_store(path)), sample.named);
    return sample;
  }
  Author author(working, 2);
  sample.moments.push_back(ask_everything(author.store(), sample.named));
  for (int number = 0; number < 10; ++number) {
    const Lease lease = author.own(Author::id(fmt::format("ses_small_{}", number)));
    sample.moments.push_back(ask_everything(author.store(), sample.named));
    Batch batch;
    batch.entries = {author.say(300), author.say(9'000)};
    author.commit(lease, batch);
    sample.moments.push_back(ask_everything(author.store(), sample.named));
  }
  sample.answers = sample.moments.back();
  copy_files(working, path);
  return sample;
}

}  // namespace perdure
