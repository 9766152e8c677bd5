// Whoever holds a session in the middle of an unsafe call, against whoever asks for it: through each
// door, in the same runtime, in another one, in another store object and in another process; the
// program `perdure` is among both. The second one is refused and told which process has it; the first
// one's call takes effect once, and what came of it is recorded.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fmt/format.h>
#include <functional>
#include <future>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <string>
#include <sys/wait.h>
#include <tuple>
#include <unistd.h>
#include <utility>
#include <vector>

#include "contract/backends.hpp"
#include "doubles/must.hpp"
#include "held/program.hpp"
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
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"

namespace perdure {
namespace {

enum class Holder : std::uint8_t { begun, opened, resumed, agent, checkpointer, saver, program };
enum class Way : std::uint8_t { same_runtime, two_runtimes, two_stores, two_processes };

constexpr std::array holder_names = {"Begun",        "Opened", "Resumed", "Agent",
                                     "Checkpointer", "Saver",  "Program"};
constexpr std::array way_names = {"SameRuntime", "TwoRuntimes", "TwoStores", "TwoProcesses"};

/// The call that is under way while others ask.
struct UnderWay {
  int runs = 0;
  std::promise<void> has_begun;
  std::promise<void> may_end;

  void pass() {
    ++runs;
    has_begun.set_value();
    may_end.get_future().wait();
  }
};

/// One agent over a store, whose only tool pays, and needs somebody's word.
std::unique_ptr<Agent> agent_over(Store& store, const std::shared_ptr<UnderWay>& call) {
  Tool pay{.name = "pay", .side_effects = SideEffects{.mutate = true}};
  pay.run = [call](const CallContext&) -> ToolOutcome {
    call->pass();
    return Succeeded{.content = "paid"};
  };
  AgentSpec spec;
  spec.setup = {.model = "m"};
  spec.tools = must(Toolbox::of({{.tool = std::move(pay)}}));
  spec.permissions = {.mutate = Permit::ask};
  spec.make_provider = [](const Setup&) {
    return make_scripted(R"({"responses": [{"text": "one"}, {"text": "two"}]})");
  };
  return must(Agent::start(store, std::move(spec)));
}

struct Side {
  std::shared_ptr<Store> store;
  Agent* agent = nullptr;
};

template <class T>
std::string outcome(const Result<T>& opened) {
  if (opened) return "it was opened";
  return fmt::format("{}: {}", to_string(opened.error().code), opened.error().message);
}

using Opener = std::function<std::string(const Side&, const SessionId&)>;

const std::vector<std::pair<std::string, Opener>>& openers() {
  static const std::vector<std::pair<std::string, Opener>> all = {
      {"Runtime::open",
       [](const Side& side, const SessionId& id) {
         return outcome(side.agent->runtime().open(id));
       }},
      {"Runtime::resume",
       [](const Side& side, const SessionId& id) {
         return outcome(side.agent->runtime().resume(id));
       }},
      {"Agent::resume",
       [](const Side& side, const SessionId& id) { return outcome(side.agent->resume(id)); }},
      {"Checkpointer::start_session",
       [](const Side& side, const SessionId& id) {
         return outcome(Checkpointer(*side.store).start_session(id));
       }},
      {"Checkpointer::load_latest",
       [](const Side& side, const SessionId& id) {
         return outcome(Checkpointer(*side.store).load_latest(id));
       }},
      {"StoreSaver::put",
       [](const Side& side, const SessionId& id) {
         const auto saver = make_saver(side.store, {.wait = Duration(0)});
         return outcome(saver->put(id.text(), RawJson::from_text(R"({"n": 2})").value()));
       }},
  };
  return all;
}

/// Another process, begun before this one has anything, that asks when it is told to.
class Rival {
 public:
  explicit Rival(const std::string& location) {
    std::array<int, 2> asked{};
    std::array<int, 2> told{};
    if (::pipe(asked.data()) != 0 || ::pipe(told.data()) != 0) throw std::runtime_error("no pipe");
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(asked[1]);
      ::close(told[0]);
      serve(location, ::fdopen(asked[0], "r"), ::fdopen(told[1], "w"));
      ::_exit(0);
    }
    ::close(asked[0]);
    ::close(told[1]);
    asks_ = ::fdopen(asked[1], "w");
    hears_ = ::fdopen(told[0], "r");
  }
  ~Rival() {
    std::fclose(asks_);
    std::fclose(hears_);
    int status = 0;
    ::waitpid(pid_, &status, 0);
  }
  Rival(const Rival&) = delete;
  Rival& operator=(const Rival&) = delete;

  std::string ask(std::size_t opener, const SessionId& id) {
    std::fputs(fmt::format("{} {}\n", opener, id.text()).c_str(), asks_);
    std::fflush(asks_);
    return line_of(hears_).value_or("the other process ended");
  }

 private:
  static std::optional<std::string> line_of(std::FILE* file) {
    std::array<char, 4096> line{};
    if (std::fgets(line.data(), line.size(), file) == nullptr) return std::nullopt;
    std::string text(line.data());
    if (text.ends_with('\n')) text.pop_back();
    return text;
  }

  static void serve(const std::string& location, std::FILE* asked, std::FILE* told) {
    const std::shared_ptr<Store> store = must(open_store(location));
    const auto agent = agent_over(*store, std::make_shared<UnderWay>());
    while (const auto line = line_of(asked)) {
      const std::size_t space = line->find(' ');
      const auto id = SessionId::parse(line->substr(space + 1)).value();
      const Opener& open = openers().at(std::stoul(line->substr(0, space))).second;
      std::fputs((open({store, agent.get()}, id) + "\n").c_str(), told);
      std::fflush(told);
    }
  }

  pid_t pid_ = -1;
  std::FILE* asks_ = nullptr;
  std::FILE* hears_ = nullptr;
};

/// Ids of chance; the one that is waited for comes late.
class LateId final : public IdSource {
 public:
  explicit LateId(UnderWay& call) : call_(call) {}
  std::array<std::uint8_t, 16> next() override {
    if (late_after > 0 && --late_after == 0) call_.pass();
    return random_ids().next();
  }
  int late_after = 0;

 private:
  UnderWay& call_;
};

class Pairs : public testing::TestWithParam<std::tuple<Backend, Holder, Way>> {
 protected:
  Pairs() {
    const auto& [backend, holder, way] = GetParam();
    if (way == Way::two_processes) rival.emplace(home.location());
    if (way == Way::two_processes && !held::program.empty()) programs.emplace(home.location());
    side.store = must(open_store(home.location()));
    own = agent_over(*side.store, call);
    side.agent = own.get();
    second = side;
    if (way == Way::two_stores) second.store = must(open_store(home.location()));
    if (way == Way::two_runtimes || way == Way::two_stores) {
      others = agent_over(*second.store, call);
      second.agent = others.get();
    }
  }

  /// Gives the session a call that may be made.
  void add_a_call(Session& session) {
    must(session.record_request({}, user_says("pay")));
    must(session.record_response(
        {.blocks = {ToolCallBlock{.id = "c", .name = "pay", .args = "{}"}}}));
    must(session.approve(first_call(session.id()), true, "ann", "yes"));
  }

  /// A session with such a call, which no process holds.
  SessionId with_a_call() {
    auto begun = must(own->begin());
    add_a_call(begun.session());
    return begun.session().id();
  }

  Position first_call(const SessionId& id) {
    return must(side.store->ledger().list({.session = id})).front().position;
  }

  /// Asked through every door while the call is under way.
  void expect_others_refused(const SessionId& id, std::int64_t pid = ::getpid()) {
    const std::string here = fmt::format("process {}", pid);
    for (std::size_t i = 0; i < openers().size(); ++i) {
      const auto& [name, open] = openers()[i];
      const std::string said = rival ? rival->ask(i, id) : open(second, id);
      EXPECT_TRUE(said.starts_with("lease_held: ")) << name << ": " << said;
      const bool names_us =
          said.find(here) != std::string::npos ||
          said.find(fmt::format("this process ({})", ::getpid())) != std::string::npos;
      EXPECT_TRUE(names_us) << name << ": " << said;
    }
  }

  void expect_programs_refused(const SessionId& id, std::int64_t pid = ::getpid()) {
    for (const held::Asking& asking : held::askings()) {
      // What a run of the program is told to stop is stopped.
      if (asking.exit == 0 && pid != ::getpid()) continue;
      const held::Said said = programs->run(held::replaced(asking.words, "SES", id.text()));
      const std::string expected =
          held::replaced(std::string(asking.says), "PID", std::to_string(pid));
      EXPECT_EQ(said.exit, asking.exit) << asking.words << ": " << said.out;
      EXPECT_TRUE(said.out.contains(expected)) << asking.words << ": " << said.out;
    }
  }

  void expect_one_effect(const SessionId& id) {
    EXPECT_EQ(call->runs, 1);
    EXPECT_EQ(must(side.store->ledger().read(id, first_call(id))).state, CallState::succeeded);
  }

  template <class Work>
  void while_under_way(const SessionId& id, Work work) {
    auto done = std::async(std::launch::async, work);
    call->has_begun.get_future().wait();
    expect_others_refused(id);
    if (programs) expect_programs_refused(id);
    call->may_end.set_value();
    done.get();
  }

  void hold_begun() {
    auto begun = must(own->begin());
    Session& session = begun.session();
    add_a_call(session);
    while_under_way(session.id(), [&] { must(session.run_calls()); });
    must(session.append(user_says("still ours")));
    expect_one_effect(session.id());
  }

  void hold_opened() {
    const SessionId id = with_a_call();
    auto session = must(own->runtime().open(id));
    while_under_way(id, [&] { must(session.run_calls()); });
    must(session.append(user_says("still ours")));
    expect_one_effect(id);
  }

  void hold_resumed() {
    const SessionId id = with_a_call();
    std::optional<Resumed> resumed;
    while_under_way(id, [&] { resumed.emplace(must(own->runtime().resume(id))); });
    must(resumed->session.append(user_says("still ours")));
    expect_one_effect(id);
  }

  void hold_agent() {
    const SessionId id = with_a_call();
    auto resumed = must(own->resume(id));
    AgentObserver observer;
    while_under_way(id, [&] { must(resumed.session.run(std::nullopt, observer)); });
    must(resumed.session.session().append(user_says("still ours")));
    expect_one_effect(id);
  }

  void hold_checkpointer() {
    const auto id = SessionId::parse("book").value();
    Checkpointer book(*side.store);
    must(book.start_session(id));
    const auto issued = must(book.record_tool_call_issued(id, {.tool_name = "pay"}));
    const Position position = std::get<Checkpointer::MayRun>(issued).call;
    while_under_way(id, [&] { call->pass(); });
    must(book.record_tool_call_result(id, position, Succeeded{.content = "paid"}));
    expect_one_effect(id);
  }

  void hold_saver() {
    const auto id = SessionId::parse("thread").value();
    const auto state = RawJson::from_text(R"({"n": 1})").value();
    LateId ids(*call);
    const auto saver = make_saver(side.store, {.ids = &ids});
    must(saver->put("thread", state));
    ids.late_after = 2;  // The first is minted before the lease is taken.
    while_under_way(id, [&] { must(saver->put("thread", state)); });
    EXPECT_EQ(must(saver->list("thread")).size(), 2U);
  }

  void hold_program() {
    ASSERT_TRUE(programs->run_to_call());
    const SessionSummary row = must(side.store->sessions().list({})).sessions.at(0);
    expect_others_refused(row.id, row.holder.value().pid);
    expect_programs_refused(row.id, row.holder.value().pid);

    const held::Said said = programs->end();

    EXPECT_EQ(said.exit, 0) << said.out;
    EXPECT_EQ(programs->book(), "paid\n");
    EXPECT_EQ(must(side.store->ledger().read(row.id, first_call(row.id))).state,
              CallState::succeeded);
  }

  StorePlace home{std::get<Backend>(GetParam())};
  std::optional<Rival> rival;
  std::optional<held::Programs> programs;
  std::shared_ptr<UnderWay> call = std::make_shared<UnderWay>();
  Side side;
  Side second;
  std::unique_ptr<Agent> own;
  std::unique_ptr<Agent> others;
};

TEST_P(Pairs, TheSecondIsRefusedAndTheFirstGoesOn) {
  switch (std::get<Holder>(GetParam())) {
    case Holder::begun:
      return hold_begun();
    case Holder::opened:
      return hold_opened();
    case Holder::resumed:
      return hold_resumed();
    case Holder::agent:
      return hold_agent();
    case Holder::checkpointer:
      return hold_checkpointer();
    case Holder::saver:
      return hold_saver();
    case Holder::program:
      return hold_program();
  }
}

std::string pair_name(const testing::TestParamInfo<Pairs::ParamType>& named) {
  const auto& [backend, holder, way] = named.param;
  return fmt::format("{}{}{}", backend.name, holder_names.at(static_cast<std::size_t>(holder)),
                     way_names.at(static_cast<std::size_t>(way)));
}

constexpr auto holders = {Holder::begun, Holder::opened,       Holder::resumed,
                          Holder::agent, Holder::checkpointer, Holder::saver};

INSTANTIATE_TEST_SUITE_P(OneProcess, Pairs,
                         testing::Combine(testing::ValuesIn(every_backend()),
                                          testing::ValuesIn(holders),
                                          testing::Values(Way::same_runtime, Way::two_runtimes)),
                         pair_name);
INSTANTIATE_TEST_SUITE_P(TwoStores, Pairs,
                         testing::Combine(testing::ValuesIn(surviving_backends()),
                                          testing::ValuesIn(holders),
                                          testing::Values(Way::two_stores, Way::two_processes)),
                         pair_name);
INSTANTIATE_TEST_SUITE_P(OfTheProgram, Pairs,
                         testing::Combine(testing::ValuesIn(surviving_backends()),
                                          testing::Values(Holder::program),
                                          testing::Values(Way::two_processes)),
                         pair_name);

}  // namespace
}  // namespace perdure
