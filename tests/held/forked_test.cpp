// A child of fork(2) inherits every object, and may use none: each method fails, and what it destroys
// it leaves to its parent, which goes on with its lease, its connection and its locks.

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fmt/format.h>
#include <functional>
#include <future>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <poll.h>
#include <signal.h>
#include <string>
#include <string_view>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include "contract/backends.hpp"
#include "doubles/must.hpp"
#include "perdure/adapters/checkpointer.hpp"
#include "perdure/adapters/saver.hpp"
#include "perdure/agent/agent.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/agent/tools.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/store.hpp"
#include "store/api/lookup.hpp"
#include "store/api/transfer.hpp"

namespace perdure {
namespace {

using std::chrono::minutes;

/// What a child of fork(2) says until its end; empty if it did not end in time, and is ended then.
std::optional<std::string> said_by_child(const std::function<std::string()>& child) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) return std::nullopt;
  const pid_t pid = ::fork();
  if (pid == 0) {
    const std::string said = child() + "\n";
    const bool was_written = ::write(ends[1], said.data(), said.size()) > 0;
    ::_exit(was_written ? 0 : 1);
  }
  ::close(ends[1]);
  std::string said;
  pollfd heard{.fd = ends[0], .events = POLLIN, .revents = 0};
  while (!said.ends_with('\n')) {
    constexpr int patience_ms = 120'000;
    if (::poll(&heard, 1, patience_ms) <= 0) break;
    std::array<char, 4096> piece{};
    const ssize_t size = ::read(ends[0], piece.data(), piece.size());
    if (size <= 0) break;
    said.append(piece.data(), static_cast<std::size_t>(size));
  }
  ::close(ends[0]);
  if (!said.ends_with('\n')) ::kill(pid, SIGKILL);
  int status = 0;
  ::waitpid(pid, &status, 0);
  if (!said.ends_with('\n')) return std::nullopt;
  said.pop_back();
  return said;
}

/// The names of what did not fail as an object of another process must.
class Refusals {
 public:
  explicit Refusals(pid_t owner) : owner_(fmt::format("process {},", owner)) {}

  template <class T>
  void expect(std::string_view name, const Result<T>& done) {
    const bool is_refused = !done && done.error().code == ErrorCode::closed &&
                            done.error().message.find(owner_) != std::string::npos;
    if (!is_refused)
      missing_ += fmt::format("{}: {}; ", name, done ? "done" : done.error().message);
  }
  [[nodiscard]] const std::string& missing() const { return missing_; }

 private:
  const std::string owner_;
  std::string missing_;
};

class Forked : public testing::TestWithParam<Backend> {
 protected:
  // libpq asks GSSAPI first, under a lock of that library: a child that is forked while another thread
  // connects would wait for it for ever.
  static void SetUpTestSuite() { ::setenv("PGGSSENCMODE", "disable", 1); }

  Forked() {
    AgentSpec spec;
    spec.setup = {.model = "m"};
    spec.make_provider = [](const perdure::Setup&) {
      return make_scripted(R"({"responses": [{"text": "one"}, {"text": "two"}]})");
    };
    agent = must(Agent::start(*store, std::move(spec)));
    talk = must(agent->begin());
    must(talk->run(user_says("hello"), observer));
    runtime = must(Runtime::start(*store));
    session = must(runtime->create());
    book = std::make_unique<Checkpointer>(*store);
    must(book->start_session(book_id));
    saver = make_saver(store);
    must(saver->put("thread", state));
    // So that the threads that watch are there, too.
    must(store->wait_for_change(must(store->change_number()), Duration(1)));
  }

  void use_store(Refusals& refusals) {
    const SessionId& id = session->id();
    const WorkerId worker = session->lease().worker;
    refusals.expect("sessions.create", store->sessions().create({.id = new_id}));
    refusals.expect("sessions.read", store->sessions().read(id));
    refusals.expect("sessions.list", store->sessions().list({}));
    refusals.expect("sessions.annotate", store->sessions().annotate(id, {}));
    refusals.expect("ownership.enroll", store->ownership().enroll({.id = worker}));
    refusals.expect("ownership.renew", store->ownership().renew(worker));
    refusals.expect("ownership.acquire", store->ownership().acquire(id, worker));
    refusals.expect("ownership.release", store->ownership().release(session->lease()));
    refusals.expect("ownership.retire", store->ownership().retire(worker));
    refusals.expect("log.read", store->log().read(id, {}));
    refusals.expect("ledger.list", store->ledger().list({}));
    refusals.expect("inbox.list", store->inbox().list(id, 1));
    refusals.expect("blobs.put", store->blobs().put("bytes"));
    refusals.expect("changes.current", store->change_number());
    refusals.expect("changes.wait", store->wait_for_change(0, minutes(10)));
    refusals.expect("retention.remove", store->upkeep().remove(id));
    refusals.expect("upkeep.check", store->upkeep().check());
    refusals.expect("upkeep.sync", store->sync());
    refusals.expect("transfer.find_owners", find_owners(store->transfer(), {}));
    refusals.expect("commit",
                    store->commit(session->lease(), {.id = mint<BatchTag>(random_ids())}));
  }

  void use_runtime(Refusals& refusals) {
    const SessionId& id = session->id();
    refusals.expect("runtime.create", runtime->create());
    refusals.expect("runtime.open", runtime->open(id, minutes(10)));
    refusals.expect("runtime.resume", runtime->resume(id, {.wait = minutes(10)}));
    refusals.expect("runtime.fork", runtime->fork(id, Point::head()));
    refusals.expect("runtime.renew", runtime->renew());
    refusals.expect("Runtime::start", Runtime::start(*store));
    refusals.expect("session.append", session->append(user_says("from a child")));
    refusals.expect("session.record_request", session->record_request());
    refusals.expect("session.record_response", session->record_response({}));
    refusals.expect("session.run_calls", session->run_calls());
    refusals.expect("session.take_inbox", session->take_inbox());
    refusals.expect("session.checkpoint", session->checkpoint());
    refusals.expect("session.set_status", session->set_status({.status = Status::paused}));
    refusals.expect("session.finish", session->finish("done"));
    refusals.expect("session.state_at", session->state_at(Point::head()));
    refusals.expect("session.close", session->close());
  }

  void use_agent(Refusals& refusals) {
    refusals.expect("agent.begin", agent->begin());
    refusals.expect("agent.resume", agent->resume(talk->session().id(), {.wait = minutes(10)}));
    refusals.expect("agent session.run", talk->run(user_says("from a child"), observer));
  }

  void use_faces(Refusals& refusals) {
    refusals.expect("book.start_session", book->start_session(book_id));
    refusals.expect("book.save_checkpoint", book->save_checkpoint(book_id, {}));
    refusals.expect("book.record_tool_call_issued",
                    book->record_tool_call_issued(book_id, {.tool_name = "pay"}));
    refusals.expect("book.load_latest", book->load_latest(book_id));
    refusals.expect("book.check_pending_tool_calls", book->check_pending_tool_calls(book_id));
    refusals.expect("book.end_session", book->end_session(book_id, Status::completed));
    refusals.expect("saver.put", saver->put("thread", state));
    refusals.expect("saver.get", saver->get("thread"));
    refusals.expect("saver.list", saver->list("thread"));
    refusals.expect("saver.remove", saver->remove("thread"));
    refusals.expect("saver.claim_step", saver->claim_step("thread", "step", "print"));
  }

  void destroy_everything() {
    talk.reset();
    agent.reset();
    session.reset();
    runtime.reset();
    book.reset();
    saver.reset();
    store.reset();
  }

  StorePlace home{GetParam()};
  std::shared_ptr<Store> store = must(open_store(home.location()));
  AgentObserver observer;
  std::unique_ptr<Agent> agent;
  std::optional<AgentSession> talk;
  std::unique_ptr<Runtime> runtime;
  std::optional<Session> session;
  std::unique_ptr<Checkpointer> book;
  std::unique_ptr<CheckpointSaver> saver;
  const SessionId book_id = SessionId::parse("book").value();
  const SessionId new_id = SessionId::parse("new").value();
  const RawJson state = RawJson::from_text(R"({"n": 1})").value();
};

TEST_P(Forked, InAChildEveryMethodFailsAndNamesTheProcess) {
  const pid_t owner = ::getpid();
  const auto said = said_by_child([&] {
    Refusals refusals(owner);
    use_store(refusals);
    use_runtime(refusals);
    use_agent(refusals);
    use_faces(refusals);
    return refusals.missing();
  });
  EXPECT_EQ(said, "");
}

TEST_P(Forked, AChildThatDestroysEverythingTakesNothingFromItsParent) {
  const auto ask_server = [&](const std::string& what, const std::string& which) {
    if (GetParam().home != Home::schema) return std::string();
    return cluster().one("SELECT " + what + " FROM pg_stat_activity WHERE application_name = '" +
                         home.schema().name() + "'" + which);
  };
  const std::string before = ask_server("string_agg(pid::text, ',' ORDER BY pid)", "");

  const auto said = said_by_child([&] {
    destroy_everything();
    return std::string("destroyed");
  });

  ASSERT_EQ(said, "destroyed");
  const auto is_one_of_them = " AND pid IN (" + before + ")";
  EXPECT_EQ(ask_server("string_agg(pid::text, ',' ORDER BY pid)", is_one_of_them), before);
  must(runtime->renew());
  must(session->append(user_says("still here")));
  EXPECT_EQ(must(talk->run(user_says("and you?"), observer)).answer, "two");
  must(book->save_checkpoint(book_id,
                             {.transcript = RawJson::from_text(R"([{"role": "user"}])").value()}));
  must(saver->put("thread", state));
  if (!GetParam().survives()) return;
  // Nobody takes the parent for dead.
  const auto other = must(open_store(home.location()));
  const auto rival = must(Runtime::start(*other));
  const auto taken = rival->open(session->id());
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, ErrorCode::lease_held);
}

// The child has no copy of the thread that makes the call, and must not wait for it.
TEST_P(Forked, AChildDoesNotWaitForAttemptsOfItsParent) {
  std::promise<void> has_begun;
  std::promise<void> may_return;
  Tool slow{.name = "slow", .side_effects = SideEffects{.mutate = true}};
  slow.run = [&](const CallContext&) -> ToolOutcome {
    has_begun.set_value();
    may_return.get_future().wait();
    return Succeeded{.content = "done"};
  };
  const auto worker = must(Runtime::start(*store, {.tools = must(Tools::of({slow}))}));
  std::optional<Session> busy = must(worker->create());
  must(busy->record_request({}, user_says("go")));
  must(busy->record_response({.blocks = {ToolCallBlock{.id = "c", .name = "slow", .args = "{}"}}}));
  auto ran = std::async(std::launch::async, [&] { return busy->run_calls(); });
  has_begun.get_future().wait();

  const auto said = said_by_child([&] {
    Refusals refusals(::getppid());
    refusals.expect("session.close", busy->close());
    busy.reset();
    destroy_everything();
    return refusals.missing();
  });

  EXPECT_EQ(said, "");
  may_return.set_value();
  must(ran.get());
  EXPECT_EQ(must(store->ledger().list({.session = busy->id()})).front().state,
            CallState::succeeded);
}

TEST_P(Forked, AChildOpensTheStoreForItself) {
  if (!GetParam().survives()) return;
  const auto said = said_by_child([&] {
    const auto own = open_store(home.location());
    if (!own) return own.error().message;
    const auto worker = Runtime::start(**own);
    if (!worker) return worker.error().message;
    const auto begun = (*worker)->create();
    if (!begun) return begun.error().message;
    const auto theirs = (*worker)->open(session->id());
    return std::string(theirs ? "taken" : to_string(theirs.error().code));
  });
  EXPECT_EQ(said, "lease_held");
  must(session->append(user_says("still here")));
}

INSTANTIATE_TEST_SUITE_P(Every, Forked, testing::ValuesIn(every_backend()),
                         [](const auto& named) { return named.param.name; });

}  // namespace
}  // namespace perdure
