// The key is looked for before a session is created: one without a key could never run. Nothing is taken
// over before the agent is known to be the one that was meant. The programs' folder is not called
// "store.db…": people copy, remove and chmod the files of a store by that name.

#include "recovery/live_agent.hpp"

#include <chrono>
#include <fcntl.h>
#include <filesystem>
#include <stop_token>
#include <sys/stat.h>
#include <system_error>

#include "agent/api/agent_file.hpp"
#include "context/agent_source.hpp"
#include "context/command_context.hpp"
#include "core/api/descriptor.hpp"
#include "perdure/agent/agent.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/runtime/tool.hpp"
#include "runtime/api/session.hpp"

namespace perdure::cli {
namespace {

constexpr std::size_t opening_columns = 100;

std::string key_place(const ModelSpec& model) {
  if (!model.key_variable.empty()) return fmt::format("set {}", model.key_variable);
  return fmt::format("put it into {}", model.key_file);
}

Result<void> check_key(const AgentFile& file, const ProcessIo& io, const ModelServices& services) {
  auto provider = make_provider(file, io.environment, services);
  if (provider) return {};
  const bool has_key = !file.model.key_variable.empty() || !file.model.key_file.empty();
  if (!has_key || provider.error().code != ErrorCode::not_found) return forward(provider);
  return fail(ErrorCode::unavailable,
              fmt::format("there is no key for {}: {}, or say in the agent file where it is",
                          file.model.id, key_place(file.model)),
              "authority");
}

// A writer to these can approve its own calls. On a server, and in memory, there are none.
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

// Those that a resume settles by itself are left out, and those that the model was told of.
std::vector<PlannedCall> calls_in_doubt(CommandContext& context, Store& store,
                                        const Session& session) {
  const Policy policy;
  auto row = store.sessions().read(session.id());
  if (!row) return {};
  auto plan = plan_recovery(store, *row, session.state(),
                            {.policy = policy, .now = context.io().clock->now()});
  if (!plan) return {};
  std::erase_if(plan->calls, [](const PlannedCall& each) {
    return each.call.state != CallState::in_doubt || !waits(each);
  });
  return std::move(plan->calls);
}

std::string programs_folder(const ProcessIo& io, const std::string& location, Store& store) {
  const StoreInfo info = store.info();
  if (info.backend != "sqlite") return state_folder(io) + "/programs/" + info.incarnation;
  std::error_code ignored;  // A path that does not lead to itself leads to a folder of its own.
  const std::filesystem::path file = std::filesystem::weakly_canonical(location, ignored);
  return (file.parent_path() / ("." + file.filename().string() + ".programs")).string();
}

// Who may write beside it may write there; what lacks permission fails where it is used. A folder that
// belongs neither to us, nor to root, nor to the owner of the store is refused: what it holds names
// processes that we end.
Result<void> make_programs_folder(const ProcessIo& io, const std::string& folder,
                                  const std::string& location) {
  std::error_code ignored;
  const bool is_made = std::filesystem::create_directories(folder, ignored);
  struct stat found{};
  if (::lstat(folder.c_str(), &found) != 0) return {};
  if (S_ISLNK(found.st_mode)) {
    return fail(ErrorCode::unavailable, folder + " is a link, and is not followed: remove it");
  }
  struct stat store{};
  const bool is_the_stores = ::stat(location.c_str(), &store) == 0 && store.st_uid == found.st_uid;
  if (found.st_uid != io.user_id && found.st_uid != 0 && !is_the_stores) {
    return fail(ErrorCode::unavailable,
                folder + " belongs to another user, who could have us end any process: remove it",
                "authority");
  }
  if (!is_made) return {};
  const std::filesystem::perms beside =
      std::filesystem::status(std::filesystem::path(folder).parent_path(), ignored).permissions();
  std::filesystem::permissions(
      folder, (beside & std::filesystem::perms::group_all) | std::filesystem::perms::owner_all,
      ignored);
  return {};
}

ResumeOptions options_of(CommandContext& context) {
  ResumeOptions options;
  options.wait = span_from(context.given().find("wait").value_or("")).value_or(Duration{0});
  if (context.given().has("accept-changes")) options.accepted_by = context.io().user;
  options.accepts_damage = context.given().has("accept-damage");
  options.stop = context.signals().token();
  return options;
}

bool is_about(const Error& error, std::string_view subject) {
  return error.code == ErrorCode::conflict && error.subject == subject;
}

// What can be done about it.
Error with_advice(CommandContext& context, const SessionId& id, const ResumeOptions& options,
                  Error error) {
  const std::string name = context.short_id(id.text());
  if (error.code == ErrorCode::corrupted && error.subject == "damage") {
    error.message += fmt::format(
        ". {} says more. To go on from before it, fork it there; to go on without: {}",
        context.command("check"), context.command(fmt::format("resume {} --accept-damage", name)));
  }
  if (error.code == ErrorCode::lease_held) {
    error.message +=
        fmt::format("; {}. To stop it: {}",
                    options.wait > Duration(0)
                        ? fmt::format("it was not given back within {}", exact_span(options.wait))
                        : "--wait 5m waits until it is given back",
                    context.command("pause " + name));
  }
  if (is_about(error, "agent_refused")) {
    error.message += fmt::format(
        ". Resume it with its agent as it was: {}; or let the file say `on_change: ask`",
        context.command(fmt::format("resume {} --agent FILE", id.text())));
  }
  return error;
}

// Whether a person continues with an agent that has changed.
bool accepts(CommandContext& context, const std::string& changed) {
  if (!context.can_ask() || context.signals().caught() != 0) return false;
  // Nothing is taken over yet: the person asked may leave.
  const bool was_held = context.signals().let_go();
  const bool is_confirmed = context.confirms(changed + ". Go on with the agent as it is now?");
  if (was_held) context.signals().hold();
  return is_confirmed;
}

// Once, and if need be once more, with a person's consent.
Result<ResumedAgent> resume_agent(CommandContext& context, Agent& agent, const SessionId& id) {
  ResumeOptions options = options_of(context);
  auto resumed = agent.resume(id, options);
  if (!resumed && is_about(resumed.error(), "agent_changed")) {
    const std::string changed = resumed.error().message;
    if (!accepts(context, changed)) {
      return fail(ErrorCode::conflict, changed + " (--accept-changes)", "agent_changed");
    }
    options.accepted_by = context.io().user;
    resumed = agent.resume(id, options);
  }
  if (resumed) return resumed;
  return std::unexpected(with_advice(context, id, options, std::move(resumed).error()));
}

// So that the next one finds the agent that the session continues with.
Result<void> remember(Session& session, const SessionSummary& row, const AgentSource& source) {
  if (source_in(row.metadata) == source) return {};
  return session.annotate({.metadata = with_source(row.metadata, source)});
}

Result<AgentSource> remembered_source(CommandContext& context, const SessionSummary& row) {
  if (auto known = source_in(row.metadata)) return *std::move(known);
  auto theirs = imported_source_in(row.metadata);
  if (!theirs) {
    return fail(ErrorCode::not_found,
                fmt::format("{} does not say which agent it is of: name its file with --agent FILE",
                            row.id.text()));
  }
  if (context.given().has("accept-agent")) return *std::move(theirs);
  return fail(
      ErrorCode::conflict,
      fmt::format("{} came out of a bundle, and the maker of the bundle chose its agent, which "
                  "would get your keys and run its tools: {}. With an agent of yours: {}; "
                  "with that one, if you trust it: {}",
                  row.id.text(), source_words(*theirs),
                  context.command(fmt::format("resume {} --agent FILE", row.id.text())),
                  context.command(fmt::format("resume {} --accept-agent", row.id.text()))),
      "agent_imported");
}

}  // namespace

std::string state_folder(const ProcessIo& io) {
  const auto state = io.environment("XDG_STATE_HOME");
  if (state && state->starts_with('/')) return *state + "/perdure";
  return io.environment("HOME").value_or("/tmp") + "/.local/state/perdure";
}

Result<void> make_state_folder(const ProcessIo& io) {
  const std::filesystem::path folder = state_folder(io);
  std::filesystem::path made;
  for (const auto& part : folder) ::mkdir((made /= part).c_str(), S_IRWXU);
  // Code that needs it reports what it lacks. O_PATH: an unreadable folder is checked too.
  const Descriptor opened(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!opened.is_open()) return {};
  struct stat status{};
  const bool is_known = ::fstat(opened.get(), &status) == 0;
  const bool is_ours = is_known && status.st_uid == io.user_id;
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

Result<std::unique_ptr<Agent>> start_agent(CommandContext& context, Store& store,
                                           const AgentFile& file) {
  const ProcessIo& io = context.io();
  const ModelServices services{.clock = *io.clock, .ids = *io.ids};
  if (auto key = check_key(file, io, services); !key) return forward(key);
  const std::string folder = state_folder(io);
  if (auto made = make_state_folder(io); !made) return forward(made);
  const std::string programs = programs_folder(io, context.location(), store);
  if (runs_programs(file)) {
    if (auto made = make_programs_folder(io, programs, context.location()); !made)
      return forward(made);
  }
  auto spec = make_agent_spec(file,
                              {.environment = io.environment,
                               .state_folder = folder,
                               .programs_folder = programs,
                               .hidden = files_of_store(context.location())},
                              services);
  if (!spec) return forward(spec);
  return Agent::start(store, *std::move(spec), {.clock = io.clock, .ids = io.ids});
}

TurnOutcome play_turn(CommandContext& context, Store& store, AgentSession& agent,
                      std::optional<Message> input, bool ends) {
  TurnOutcome end;
  Session& session = agent.session();
  const auto observer = watch_turn(context, store, session);
  const BudgetTotals& totals = session.state().budget.totals;
  const BudgetTotals before = totals;
  auto report = agent.run(std::move(input), *observer, context.signals().token());
  end.signal = context.signals().caught();
  end.spent_micros = totals.spent - before.spent;
  end.unconfirmed_micros = totals.unconfirmed - before.unconfirmed;
  if (!report) {
    end.error = std::move(report).error();
    return end;
  }
  end.report = *std::move(report);
  if (end.report.stop == TurnStop::interrupted) {
    end.in_doubt = calls_in_doubt(context, store, session);
  }
  if (!ends || end.report.stop != TurnStop::completed || session.status() == Status::completed) {
    return end;
  }
  // A call that is still in doubt keeps it open; that is not a failure of the turn.
  if (auto finished = session.finish("the agent answered");
      !finished && finished.error().code != ErrorCode::conflict) {
    end.error = std::move(finished).error();
  }
  return end;
}

Result<AgentSource> source_for(CommandContext& context, const SessionSummary& row) {
  const auto named = context.given().find("agent");
  AgentSource given = source_of(context.given(), named.value_or(""), context.io().folder);
  if (named) return given;
  auto known = remembered_source(context, row);
  if (!known) {
    // A model is enough of an agent.
    return given.model.empty() ? forward(known) : Result<AgentSource>(given);
  }
  AgentSource source = *std::move(known);
  if (!given.model.empty()) source.model = given.model;
  if (!given.provider.empty()) source.provider = given.provider;
  if (!given.base_url.empty()) source.base_url = given.base_url;
  return source;
}

Result<ResumedSession> resume_session(CommandContext& context, Store& store,
                                      const SessionSummary& row) {
  if (!row.moved_to.empty()) {
    return fail(ErrorCode::conflict,
                fmt::format("{} was moved; resume it there: perdure resume {} --store {}",
                            row.id.text(), row.id.text(), shell_word(row.moved_to)),
                row.moved_to);
  }
  auto source = source_for(context, row);
  if (!source) return forward(source);
  auto file = load_agent(*source, context.io().environment);
  if (!file) return forward(file);
  auto agent = start_agent(context, store, *file);
  if (!agent) return forward(agent);
  const Uptime begin = context.io().clock->uptime();
  auto resumed = resume_agent(context, **agent, row.id);
  if (!resumed) return forward(resumed);
  Session& session = resumed->session.session();
  if (auto kept = remember(session, row, *source); !kept) return forward(kept);
  const Uptime now = context.io().clock->uptime();
  return ResumedSession{.agent = *std::move(agent),
                        .resumed = *std::move(resumed),
                        .took = std::chrono::duration_cast<Duration>(now - begin)};
}

}  // namespace perdure::cli
