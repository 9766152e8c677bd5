// The key is looked for before a session is begun: nobody wants one that could never speak.

#include "live/live_agent.hpp"

#include <cstddef>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <sys/stat.h>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include "core/api/descriptor.hpp"
#include "desk.hpp"
#include "exit.hpp"
#include "live/left_open.hpp"
#include "live/programs_folder.hpp"
#include "live/turn_end.hpp"
#include "live/turn_events.hpp"
#include "live/turn_screen.hpp"
#include "perdure/agent/agent.hpp"
#include "perdure/agent/agent_factory.hpp"
#include "perdure/agent/agent_file.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/agent/providers.hpp"
#include "perdure/agent/turn.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/budget.hpp"
#include "perdure/runtime/message.hpp"
#include "perdure/runtime/session.hpp"
#include "perdure/runtime/setup.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "screen/text.hpp"
#include "world.hpp"

namespace perdure::cli {
namespace {

constexpr std::size_t opening_columns = 100;
constexpr int http_unauthorised = 401;
constexpr int http_forbidden = 403;

/// A provider whose "you may not" can be told from its other refusals.
class AuthorityTeller : public Provider {
 public:
  explicit AuthorityTeller(std::unique_ptr<Provider> inner) : inner_(std::move(inner)) {}

  [[nodiscard]] Result<PreparedRequest> prepare(const ModelRequest& request) override {
    return inner_->prepare(request);
  }
  [[nodiscard]] ModelOutcome send(ModelObserver& observer, std::stop_token stop) override {
    ModelOutcome outcome = inner_->send(observer, std::move(stop));
    if (auto* failed = std::get_if<NotAnswered>(&outcome)) {
      const bool is_refused =
          failed->status == http_unauthorised || failed->status == http_forbidden;
      if (is_refused) failed->error.subject = "authority";
    }
    return outcome;
  }

 private:
  std::unique_ptr<Provider> inner_;
};

/// For a program that reads the document at the end: only waits are told, to whoever reads stderr.
class WaitTeller : public AgentObserver {
 public:
  explicit WaitTeller(Desk& desk) : desk_(desk) {}
  void on_retry(const RetryNotice& notice) override { tell_retry(desk_, notice); }

 private:
  Desk& desk_;
};

std::string key_place(const ModelSpec& model) {
  if (!model.key_variable.empty()) return fmt::format("set {}", model.key_variable);
  return fmt::format("put it into {}", model.key_file);
}

Result<void> check_key(const AgentFile& file, const World& world, const ModelServices& services) {
  auto provider = make_provider(file, world.environment, services);
  if (provider) return {};
  const bool has_key = !file.model.key_variable.empty() || !file.model.key_file.empty();
  if (!has_key || provider.error().code != ErrorCode::not_found) return forward(provider);
  return fail(ErrorCode::unavailable,
              fmt::format("there is no key for {}: {}, or say in the agent file where it is",
                          file.model.id, key_place(file.model)),
              "authority");
}

// Whoever writes these approves its own calls. On a server, and in memory, there are none.
std::vector<std::string> files_of_store(const std::string& location) {
  if (location == "memory:" || location.find("://") != std::string::npos) return {};
  std::error_code ignored;  // A link leads to a file with neighbours of its own.
  const std::string real = std::filesystem::weakly_canonical(location, ignored).string();
  std::vector<std::string> files = {location};
  for (const std::string end : {"", "-wal", "-shm", "-journal", "-lock"}) {
    files.push_back(real + end);
  }
  return files;
}

bool runs_programs(const AgentFile& file) {
  return file.tools.shell.has_value() || !file.tools.programs.empty();
}

std::unique_ptr<AgentObserver> observer_for(Desk& desk, const LiveSession& live) {
  if (desk.given().has("jsonl")) {
    return std::make_unique<TurnEvents>(desk, live.agent.session().id());
  }
  if (desk.given().has("json")) return std::make_unique<WaitTeller>(desk);
  return std::make_unique<TurnScreen>(desk, live.store, live.agent.session());
}

// Those that a resume settles by itself are left out, and those that the model was told of.
std::vector<LeftCall> calls_in_doubt(Store& store, const Session& session) {
  auto left = read_left_calls(store, session.id(), session.state(), nullptr);
  if (!left) return {};
  std::erase_if(*left, [&](const LeftCall& each) {
    const auto open = session.state().open_calls.find(each.call.position);
    const bool is_told = open != session.state().open_calls.end() && open->second.is_told;
    return is_told || each.call.state != CallState::in_doubt || each.fate != Fate::waits;
  });
  return *std::move(left);
}

}  // namespace

std::string state_folder(const World& world) {
  const auto state = world.environment("XDG_STATE_HOME");
  if (state && state->starts_with('/')) return *state + "/perdure";
  return world.environment("HOME").value_or("/tmp") + "/.local/state/perdure";
}

Result<void> make_state_folder(const World& world) {
  const std::filesystem::path folder = state_folder(world);
  std::filesystem::path made;
  for (const auto& part : folder) ::mkdir((made /= part).c_str(), S_IRWXU);
  // Whoever needs it says what it lacks. O_PATH: a folder that may not be read is looked at too.
  const Descriptor opened(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!opened.is_open()) return {};
  struct stat status{};
  const bool is_known = ::fstat(opened.get(), &status) == 0;
  const bool is_ours = is_known && status.st_uid == world.user_id;
  if (is_ours && (status.st_mode & 07777U) != S_IRWXU) {
    ::chmod(fmt::format("/proc/self/fd/{}", opened.get()).c_str(), S_IRWXU);
  }
  if (!is_known || is_ours) return {};
  return fail(ErrorCode::unavailable,
              fmt::format("{} belongs to another user, who could have us end and write what they "
                          "like: XDG_STATE_HOME names another place",
                          folder.string()),
              "authority");
}

std::string opening_of(const std::string& prompt) {
  return clipped(visible(prompt.substr(0, prompt.find('\n'))), opening_columns);
}

Result<std::unique_ptr<Agent>> start_agent(Desk& desk, Store& store, const AgentFile& file) {
  const World& world = desk.world();
  const ModelServices services{.clock = *world.clock, .ids = *world.ids};
  if (auto key = check_key(file, world, services); !key) return forward(key);
  const std::string folder = state_folder(world);
  if (auto made = make_state_folder(world); !made) return forward(made);
  const std::string programs = programs_folder(world, desk.location(), store);
  if (runs_programs(file)) {
    if (auto made = make_programs_folder(world, programs, desk.location()); !made)
      return forward(made);
  }
  auto spec = make_agent_spec(file,
                              {.environment = world.environment,
                               .state_folder = folder,
                               .programs_folder = programs,
                               .hidden = files_of_store(desk.location())},
                              services);
  if (!spec) return forward(spec);
  spec->make_provider =
      [make = spec->make_provider](const Setup& setup) -> Result<std::unique_ptr<Provider>> {
    auto made = make(setup);
    if (!made) return made;
    return std::make_unique<AuthorityTeller>(*std::move(made));
  };
  return Agent::start(store, *std::move(spec), {.clock = world.clock, .ids = world.ids});
}

TurnEnd play_turn(Desk& desk, const LiveSession& live, std::optional<Message> input, bool ends) {
  TurnEnd end;
  const auto observer = observer_for(desk, live);
  const BudgetTotals& totals = live.agent.session().state().budget.totals;
  const BudgetTotals before = totals;
  auto report = live.agent.run(std::move(input), *observer, live.signals.token());
  end.signal = live.signals.caught();
  end.spent_micros = totals.spent - before.spent;
  end.unconfirmed_micros = totals.unconfirmed - before.unconfirmed;
  if (!report) {
    end.error = std::move(report).error();
    return end;
  }
  end.report = *std::move(report);
  Session& session = live.agent.session();
  if (end.report.stop == TurnStop::interrupted) {
    end.in_doubt = calls_in_doubt(live.store, session);
  }
  if (!ends || end.report.stop != TurnStop::completed || session.status() == Status::completed) {
    return end;
  }
  // A call that is still in doubt keeps it open; that is no failure of the turn.
  if (auto finished = session.finish("the agent answered");
      !finished && finished.error().code != ErrorCode::conflict) {
    end.error = std::move(finished).error();
  }
  return end;
}

Exit close_turn(Desk& desk, const LiveSession& live, const TurnEnd& end, Json::Object rest) {
  const Session& session = live.agent.session();
  if (desk.output().is_json()) {
    Json::Object document = end_document(desk, end, session);
    for (Json::Member& member : rest) document.push_back(std::move(member));
    if (desk.given().has("jsonl")) {
      write_event(desk, "end", {{"run", std::move(document)}});
    } else {
      desk.output().document("perdure.run/1", std::move(document));
    }
  } else {
    tell_end(desk, end, session);
  }
  return exit_of(end, session);
}

}  // namespace perdure::cli
