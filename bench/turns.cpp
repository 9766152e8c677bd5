// The session's own thread sets the answer before it runs the calls, so the tool's sees it.

#include "turns.hpp"

#include <barrier>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "doubles/watched_store.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "runtime/api/records.hpp"
#include "sessions.hpp"
#include "workload.hpp"

namespace perdure::bench {
namespace {

[[noreturn]] void stop_at(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::exit(1);
}

std::string result_in(const std::string& message) {
  const auto json = parse_json(message);
  const Json* const blocks = json ? json->find("blocks") : nullptr;
  const auto* const list = blocks != nullptr ? blocks->as_array() : nullptr;
  const Json* const content =
      list != nullptr && !list->empty() ? list->front().find("content") : nullptr;
  const std::string* const text = content != nullptr ? content->as_string() : nullptr;
  if (text == nullptr) stop_at("a turn's third message is no result");
  return *text;
}

std::string text_at(const Json& object, const char* key) {
  const Json* const found = object.find(key);
  const std::string* const text = found != nullptr ? found->as_string() : nullptr;
  if (text == nullptr) stop_at("a turn's plan is not what it was");
  return *text;
}

// The workload's words for a plan are not ours.
Plan plan_in(const std::string& text) {
  const Json json = value_or_stop("plan", parse_json(text));
  Plan plan{.objective = text_at(json, "goal")};
  const Json* const steps = json.find("steps");
  if (steps == nullptr || steps->as_array() == nullptr) stop_at("a turn's plan has no steps");
  for (const Json& step : *steps->as_array()) {
    add_step(plan, text_at(step, "text"));
    if (text_at(step, "status") == "done") plan.steps.back().status = StepStatus::done;
  }
  return plan;
}

PlayedTurn played(const Turn& turn) {
  if (turn.messages.size() != 4) stop_at("a turn has other than four messages");
  PlayedTurn made;
  made.question = value_or_stop("question", message_from_json(turn.messages[0]));
  made.call = value_or_stop("call", message_from_json(turn.messages[1]));
  made.result = result_in(turn.messages[2]);
  made.last = value_or_stop("response", message_from_json(turn.messages[3]));
  made.plan = plan_in(turn.plan);
  return made;
}

void append_names(const Message& message, std::set<std::string>& names) {
  for (const Block& block : message.blocks) {
    if (const auto* call = std::get_if<ToolCallBlock>(&block)) names.insert(call->name);
  }
}

// Runs `run` with each number below `count`, each on a thread, from one moment on.
double timed_on_threads(std::size_t count, const std::function<void(std::size_t)>& run) {
  using SteadyClock = std::chrono::steady_clock;
  SteadyClock::time_point start;
  std::barrier ready(static_cast<std::ptrdiff_t>(count),
                     [&start]() noexcept { start = SteadyClock::now(); });
  {
    std::vector<std::jthread> threads;
    threads.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      threads.emplace_back([&, i] {
        ready.arrive_and_wait();
        run(i);
      });
    }
  }
  return std::chrono::duration<double>(SteadyClock::now() - start).count();
}

// Keys are claimed across sessions: each session's are its own.
void give_own_keys(Batch& batch, std::size_t session) {
  for (CallChange& change : batch.calls) {
    auto* const intend = std::get_if<Intend>(&change);
    if (intend == nullptr || !intend->key) continue;
    for (std::size_t i = 0; i < sizeof session; ++i) {
      (*intend->key)[i] ^= static_cast<std::uint8_t>(session >> (8 * i));
    }
  }
}

}  // namespace

std::vector<PlayedTurn> read_turns(const std::string& path) {
  std::vector<PlayedTurn> turns;
  for (const Turn& turn : read_workload(path)) turns.push_back(played(turn));
  return turns;
}

Players::Players(Store& store, const std::vector<PlayedTurn>& turns, std::size_t count)
    : turns_(turns) {
  for (std::size_t i = 0; i < count; ++i) answers_[session_id(i).text()] = nullptr;
  runtime_ = value_or_stop("runtime", Runtime::start(store, {.tools = tools_of_turns()}));
  for (std::size_t i = 0; i < count; ++i) {
    sessions_.push_back(value_or_stop("create", runtime_->create({.id = session_id(i)})));
  }
}

Tools Players::tools_of_turns() {
  std::set<std::string> names;
  for (const PlayedTurn& turn : turns_) append_names(turn.call, names);
  std::vector<Tool> tools;
  for (const std::string& name : names) {
    Tool tool{.name = name, .side_effects = SideEffects{.mutate = true}};
    tool.run = [this](const CallContext& call) -> ToolOutcome {
      return Succeeded{.content = *answers_.at(call.session.text())};
    };
    tool.verify = [](const VerifyContext&) -> Verdict { return NotLanded{}; };
    tools.push_back(std::move(tool));
  }
  return value_or_stop("tools", Tools::of(std::move(tools)));
}

void Players::play_one(std::size_t number, std::size_t turns) {
  Session& session = sessions_[number];
  const std::string*& answer = answers_.at(session.id().text());
  for (std::size_t i = 0; i < turns; ++i) {
    const PlayedTurn& turn = turns_[i % turns_.size()];
    value_or_stop("ask", session.record_request({.reserve_micros = 20'000}, turn.question));
    answer = &turn.result;
    const Usage usage{.tokens_in = 450, .tokens_out = 120, .cost_micros = 8'650};
    value_or_stop("answer",
                  session.record_response(turn.call, usage,
                                          {.next_request = RequestSpec{.reserve_micros = 20'000}}));
    const CallsReport report = value_or_stop("run", session.run_calls());
    if (report.run != 1 || report.waiting) stop_at("a call was not run");
    value_or_stop("ask", session.record_request());
    value_or_stop("answer", session.record_response(turn.last, usage, {.plan = turn.plan}));
  }
}

double Players::play(std::size_t turns) {
  return timed_on_threads(sessions_.size(), [&](std::size_t number) { play_one(number, turns); });
}

std::vector<Batch> record_commits(const std::vector<PlayedTurn>& turns, std::size_t count) {
  const auto memory = value_or_stop("open", open_store("memory:"));
  WatchedStore store(*memory);
  std::vector<Batch> batches;
  store.on_commit([&](const Lease& lease, const Batch& batch) {
    batches.push_back(batch);
    return memory->commit(lease, batch);
  });
  Players players(store, turns, 1);
  [[maybe_unused]] const double took = players.play(count);
  return batches;
}

double commit_recorded(Store& store, const std::vector<Batch>& batches, std::size_t sessions) {
  const std::vector<Lease> leases = start_sessions(store, 0, sessions);
  const auto commit = [&](std::size_t number, Batch batch) {
    batch.id = mint<BatchTag>(random_ids());
    give_own_keys(batch, number);
    value_or_stop("commit", store.commit(leases[number], batch));
  };
  for (std::size_t i = 0; i < sessions; ++i) commit(i, batches.front());
  return timed_on_threads(sessions, [&](std::size_t number) {
    for (std::size_t i = 1; i < batches.size(); ++i) commit(number, batches[i]);
  });
}

}  // namespace perdure::bench
