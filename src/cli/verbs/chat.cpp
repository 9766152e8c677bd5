// Talking with an agent, line by line. A session is begun with the first line, and kept when one
// leaves: nothing of a chat is only in this process.

#include <csignal>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "command/command.hpp"
#include "command/table.hpp"
#include "desk.hpp"
#include "exit.hpp"
#include "live/agent_source.hpp"
#include "live/chat_lines.hpp"
#include "live/line_editor.hpp"
#include "live/live_agent.hpp"
#include "live/signal_watch.hpp"
#include "live/taken_up.hpp"
#include "live/turn_end.hpp"
#include "perdure/agent/agent.hpp"
#include "perdure/agent/agent_file.hpp"
#include "perdure/agent/turn_report.hpp"
#include "perdure/core/error.hpp"
#include "perdure/runtime/calls_report.hpp"
#include "perdure/runtime/message.hpp"
#include "perdure/runtime/session.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "place/path.hpp"
#include "place/reference.hpp"
#include "screen/screen.hpp"
#include "screen/words.hpp"
#include "verbs/live_options.hpp"

namespace perdure::cli {
namespace {

class Chat {
 public:
  Chat(Desk& desk, Store& store, SignalWatch& signals)
      : desk_(desk), store_(store), signals_(signals) {
    if (desk.world().catches_signals) editor_ = std::make_unique<LineEditor>(signals.descriptor());
  }

  /// A session that is there is taken up, and what is left of its last turn is done first.
  Result<void> take_up(const SessionSummary& row);
  /// One is begun with the first line.
  Result<void> prepare(AgentSource source);

  Result<Exit> talk();

 private:
  [[nodiscard]] LineEditor::Line read();
  Result<void> begin(const std::string& line);
  Result<void> say(const std::string& line);
  Result<void> give(const GivenWord& word);
  Result<void> hear(const std::string& line);
  bool command(const std::string& line);
  Result<void> go_on(std::optional<Message> input);
  TurnEnd play(std::optional<Message> input);
  void tell_turn(const TurnEnd& end);
  void remember_lines();
  void tell_cost();
  [[nodiscard]] std::optional<Exit> interrupted();
  Exit leave(Exit exit);

  Desk& desk_;
  Store& store_;
  SignalWatch& signals_;
  std::unique_ptr<LineEditor> editor_;
  AgentSource source_;
  std::unique_ptr<Agent> agent_;  ///< Outlives its session.
  std::optional<AgentSession> session_;
  std::optional<Waiting> waiting_;  ///< The call that the last turn left without a word.
  bool is_leaving_ = false;         ///< The next Ctrl-C leaves.
};

Result<void> Chat::prepare(AgentSource source) {
  source_ = std::move(source);
  auto file = load_agent(source_, desk_.world().environment);
  if (!file) return forward(file);
  auto agent = start_agent(desk_, store_, *file);
  if (!agent) return forward(agent);
  agent_ = *std::move(agent);
  desk_.talk().line(
      {{"Talking with "}, {file->name, Ink::bold}, {". /help says what else there is."}});
  return {};
}

Result<void> Chat::take_up(const SessionSummary& row) {
  auto taken = cli::take_up(desk_, store_, row);
  if (!taken) return forward(taken);
  tell_recovery(desk_, *taken);
  agent_ = std::move(taken->agent);
  session_.emplace(std::move(taken->resumed.session));
  Session& session = session_->session();
  remember_lines();
  const bool is_over = session.status() == Status::completed;
  if (is_over) return session.reopen(desk_.world().user, "the chat goes on");
  play(std::nullopt);
  return {};
}

void Chat::remember_lines() {
  if (editor_ == nullptr) return;
  const std::filesystem::path folder = state_folder(desk_.world()) + "/history";
  std::error_code ignored;  // Without a history one can still talk.
  std::filesystem::create_directories(folder, ignored);
  editor_->use_history((folder / session_->session().id().text()).string());
}

Result<void> Chat::begin(const std::string& line) {
  auto budget = dollars_option(desk_.given(), "budget");
  if (!budget) return forward(budget);
  auto begun = agent_->begin({.annotation = {.title = desk_.given().find("title").value_or(""),
                                             .opening = opening_of(line),
                                             .metadata = with_source("{}", source_)},
                              .budget_micros = *budget});
  if (!begun) return forward(begun);
  session_.emplace(*std::move(begun));
  remember_lines();
  desk_.talk().line({{"Session ", Ink::dim}, {session_->session().id().text(), Ink::dim}});
  return {};
}

Result<void> Chat::say(const std::string& line) {
  if (!session_) {
    if (auto begun = begin(line); !begun) return begun;
  }
  return go_on(user_says(line));
}

Result<void> Chat::go_on(std::optional<Message> input) {
  signals_.renew();
  const TurnEnd end = play(std::move(input));
  if (end.error && end.error->code == ErrorCode::lease_lost) return std::unexpected(*end.error);
  return {};
}

// Somebody else may have been faster: then their word counts.
Result<void> Chat::give(const GivenWord& word) {
  auto given = give_word(session_->session(), waiting_->call, word, desk_.world().user);
  if (!given && given.error().code == ErrorCode::lease_lost) return given;
  if (!given) desk_.talk().line(given.error().message);
  return go_on(std::nullopt);
}

TurnEnd Chat::play(std::optional<Message> input) {
  const LiveSession live{.store = store_, .agent = *session_, .signals = signals_};
  TurnEnd end = play_turn(desk_, live, std::move(input), false);
  is_leaving_ = end.signal != 0;
  signals_.renew();  // The one that stopped the turn is not the one that leaves.
  waiting_ = waits_for_a_word(end) ? end.report.waiting : std::nullopt;
  tell_turn(end);
  return end;
}

void Chat::tell_turn(const TurnEnd& end) {
  if (waiting_) {
    tell_stop(desk_, end, session_->session());
    return desk_.talk().line({{"Next: ", Ink::dim}, {std::string(word_advice(*waiting_))}});
  }
  if (end.error || end.report.stop != TurnStop::completed) {
    return tell_end(desk_, end, session_->session());
  }
  if (!desk_.is_terminal()) desk_.screen().text(end.report.answer);
}

void Chat::tell_cost() {
  const State none;
  desk_.talk().line(totals_text(session_ ? session_->session().state() : none) + ".");
}

// Whether the line was one.
bool Chat::command(const std::string& line) {
  if (!line.starts_with('/')) return false;
  if (line == "/cost") {
    tell_cost();
  } else if (line == "/help") {
    desk_.talk().text(chat_help);
  } else {
    desk_.talk().line(fmt::format("There is no {}; /help says what there is.", line));
  }
  return true;
}

Result<void> Chat::hear(const std::string& line) {
  const WordLine read = read_word(line, waiting_);
  if (read.word) return give(*read.word);
  if (!read.complaint.empty()) desk_.talk().line(read.complaint);
  return !read.complaint.empty() || command(line) ? Result<void>() : say(line);
}

LineEditor::Line Chat::read() {
  if (editor_ != nullptr) return editor_->read("> ");
  auto line = desk_.world().ask_line ? desk_.world().ask_line() : std::nullopt;
  if (!line) return {.ended = LineEditor::Ended::input};
  return {.ended = LineEditor::Ended::line, .text = *std::move(line)};
}

// Ctrl-C while nothing runs; an exit code if it leaves.
std::optional<Exit> Chat::interrupted() {
  const int signal = signals_.caught();
  signals_.renew();
  if (signal == SIGTERM) return Exit::terminated;
  if (std::exchange(is_leaving_, true)) return Exit::interrupted;
  desk_.talk().line("");
  desk_.talk().line({{"(Ctrl-C again leaves, as does /quit)", Ink::dim}});
  return std::nullopt;
}

Exit Chat::leave(Exit exit) {
  if (editor_ != nullptr) desk_.talk().line("");  // The prompt's line has no end.
  if (session_) {
    desk_.talk().line({{"Kept. Go on: ", Ink::dim},
                       {desk_.command("chat " + desk_.short_id(session_->session().id().text()))}});
  }
  return exit;
}

Result<Exit> Chat::talk() {
  for (;;) {
    const LineEditor::Line line = read();
    if (line.ended == LineEditor::Ended::woken) {
      if (const auto exit = interrupted()) return leave(*exit);
      continue;
    }
    if (line.ended == LineEditor::Ended::input || line.text == "/quit") return leave(Exit::done);
    is_leaving_ = false;
    if (line.text.find_first_not_of(" \t") == std::string::npos) continue;
    if (auto heard = hear(line.text); !heard) return forward(heard);
  }
}

Result<void> start_chat(Desk& desk, Store& store, Chat& chat) {
  const auto& words = desk.given().arguments;
  const bool is_file = !words.empty() && names_agent_file(words.front(), desk.world().folder);
  if (is_file || words.empty()) {
    return chat.prepare(source_of(desk.given(), is_file ? words.front() : "", desk.world().folder));
  }
  auto row = find_session(store, words.front());
  if (!row) return forward(row);
  return chat.take_up(*row);
}

Result<Exit> run_chat(Desk& desk) {
  if (!desk.world().is_in_terminal || !desk.world().is_err_terminal) {
    return fail(
        ErrorCode::invalid_argument,
        "a chat needs a terminal; in a script use perdure run AGENT.yaml PROMPT, then perdure "
        "resume SES PROMPT");
  }
  if (desk.given().arguments.empty() && !desk.given().has("model")) {
    return fail(ErrorCode::invalid_argument,
                "with whom? perdure chat AGENT.yaml, perdure chat SES, or perdure chat --model M");
  }
  SignalWatch signals(desk.world().catches_signals);
  auto store = desk.open_or_make();
  if (!store) return forward(store);
  Chat chat(desk, **store, signals);
  auto started = start_chat(desk, **store, chat);
  if (!started) return forward(started);
  return chat.talk();
}

}  // namespace

Command chat_command() {
  Command command{
      .name = "chat",
      .summary = "Talk with an agent, line by line",
      .details =
          "Each line is a turn. The session is begun with the first line, and everything said is "
          "kept: leave when you like, perdure chat SES goes on. Ctrl-C stops the turn and keeps "
          "what came so far; a second one leaves. While the agent asks a question, a line is its "
          "answer; a call that waits for approval is let through by /approve, or kept back by "
          "/deny REASON. /help lists what else can be typed.",
      .arguments = {{.name = "WITH",
                     .summary = "An agent file, or a session; not needed with --model",
                     .count = Argument::Count::maybe,
                     .by = Completes::session_or_file}},
      .options = {{.name = "title", .value = "TEXT", .summary = "What people call the session"}},
      .opens_store = true,
      .exits = {Exit::unconfirmed, Exit::interrupted, Exit::terminated},
      .examples = {{"perdure chat refunds.yaml", "with the agent of a file"},
                   {"perdure chat @last", "go on with the session that changed last"}},
      .run = run_chat};
  for (Option& option : take_up_options()) command.options.push_back(std::move(option));
  for (Option& option : model_options()) command.options.push_back(std::move(option));
  return command;
}

}  // namespace perdure::cli
