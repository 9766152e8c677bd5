// A call that waits keeps its turn: what is said meanwhile is recorded, and told once it is decided.

#include <csignal>
#include <filesystem>
#include <system_error>

#include "context/agent_source.hpp"
#include "context/calls.hpp"
#include "perdure/agent/agent.hpp"
#include "recovery/live_agent.hpp"
#include "recovery/terminal_input.hpp"
#include "verbs/table.hpp"

namespace perdure::cli {
namespace {

constexpr std::string_view chat_help =
    "/approve      allow the call that waits (so does yes)\n"
    "/deny REASON  refuse it; the model is told why (no refuses it without)\n"
    "/overrule     allow it although it was denied\n"
    "/cost         what the session has cost so far\n"
    "/help         this list\n"
    "/quit         leave; the session is kept (so does Ctrl-D)\n"
    "While the agent asks a question, a line is its answer.\n"
    "Ctrl-C stops the turn; a second one leaves.\n";

class Chat {
 public:
  Chat(CommandContext& context, Store& store)
      : context_(context), store_(store), signals_(context.signals()) {
    if (context.io().signals != nullptr)
      editor_ = std::make_unique<LineEditor>(signals_.descriptor());
  }

  /// A session that is there is taken up, and what is left of its last turn is done first.
  Result<void> resume(const SessionSummary& row) {
    signals_.hold();
    auto taken = resume_session(context_, store_, row);
    if (!taken) return forward(taken);
    tell_recovery(context_, *taken);
    agent_ = std::move(taken->agent);
    session_.emplace(std::move(taken->resumed.session));
    Session& session = session_->session();
    remember_lines();
    const bool is_over = session.status() == Status::completed;
    if (is_over) return session.reopen(context_.io().user, "the chat continues");
    return go_on(std::nullopt);
  }

  /// One is started with the first line.
  Result<void> prepare(AgentSource source) {
    source_ = std::move(source);
    auto file = load_agent(source_, context_.io().environment);
    if (!file) return forward(file);
    auto agent = start_agent(context_, store_, *file);
    if (!agent) return forward(agent);
    agent_ = *std::move(agent);
    context_.talk().line(
        {{"Talking with "}, {file->name, Ink::bold}, {". /help says what else there is."}});
    return {};
  }

  Result<Exit> talk() {
    for (;;) {
      if (is_terminated_) return leave(Exit::terminated);
      const LineEditor::Line line = read();
      if (line.ended == LineEditor::Ended::woken) {
        if (const auto exit = interrupted()) return leave(*exit);
        continue;
      }
      if (line.ended == LineEditor::Ended::input || line.text == "/quit") return leave(Exit::done);
      is_leaving_ = false;
      if (is_blank(line.text)) continue;
      if (auto heard = hear(line.text); !heard) return forward(heard);
    }
  }

 private:
  [[nodiscard]] LineEditor::Line read() {
    if (editor_ != nullptr) return editor_->read("> ");
    auto line = context_.io().ask_line ? context_.io().ask_line() : std::nullopt;
    if (!line) return {.ended = LineEditor::Ended::input};
    return {.ended = LineEditor::Ended::line, .text = *std::move(line)};
  }

  Result<void> begin(const std::string& line) {
    auto begun = agent_->begin({.annotation = {.title = context_.given().find("title").value_or(""),
                                               .opening = opening_of(line),
                                               .metadata = with_source("{}", source_)},
                                .budget_micros = budget_option(context_.given()),
                                .input = user_says(line)});
    if (!begun) return forward(begun);
    session_.emplace(*std::move(begun));
    remember_lines();
    context_.talk().line({{"Session ", Ink::dim}, {session_->session().id().text(), Ink::dim}});
    return {};
  }

  Result<void> say(const std::string& line) {
    if (!session_) {
      if (auto begun = begin(line); !begun) return begun;
      return go_on(std::nullopt);
    }
    if (waiting_) {
      context_.talk().line(
          fmt::format("Kept, and told once {} is allowed or refused.", waiting_->tool));
    }
    return go_on(user_says(line));
  }

  Result<void> give(const GivenWord& word) {
    auto given = give_word(session_->session(), waiting_->call, word, context_.io().user);
    if (!given && given.error().code == ErrorCode::lease_lost) return given;
    if (!given) context_.talk().line(given.error().message);
    if (!given && given.error().subject == "call_denied") return {};
    return go_on(std::nullopt);
  }

  Result<void> hear(const std::string& line) {
    const WordLine read = read_word(line, waiting_);
    if (read.word) return give(*read.word);
    if (!read.complaint.empty()) context_.talk().line(read.complaint);
    return !read.complaint.empty() || command(line) ? Result<void>() : say(line);
  }

  // Whether the line was one.
  bool command(const std::string& line) {
    if (!line.starts_with('/')) return false;
    if (line == "/cost") {
      const State none;
      context_.talk().line(totals_text(session_ ? session_->session().state() : none) + ".");
    } else if (line == "/help") {
      context_.talk().text(chat_help);
    } else {
      context_.talk().line(fmt::format("There is no {}; /help says what there is.", line));
    }
    return true;
  }

  /// A failed turn is reported; only a session that another process has taken over ends the chat.
  Result<void> go_on(std::optional<Message> input) {
    TurnOutcome end = play_turn(context_, store_, *session_, std::move(input), false);
    end.signal = signals_.renew();  // The one that stopped the turn is not the one that leaves.
    is_leaving_ = end.signal != 0;
    is_terminated_ = end.signal == SIGTERM;
    waiting_ = waits_for_a_word(end) ? end.report.waiting : std::nullopt;
    tell_turn(end);
    if (end.error && end.error->code == ErrorCode::lease_lost) return std::unexpected(*end.error);
    return {};
  }

  void tell_turn(const TurnOutcome& end) {
    if (waiting_) {
      tell_stop(context_, end, session_->session());
      return context_.advise_next(asks_people(waiting_->tool)
                                      ? "type the answer, or /deny REASON"
                                      : "yes (or /approve), or no (or /deny REASON)");
    }
    if (end.error || end.report.stop != TurnStop::completed) {
      return tell_end(context_, end, session_->session());
    }
    if (!context_.is_terminal()) context_.screen().text(end.report.answer, Lines::prose);
  }

  void remember_lines() {
    if (editor_ == nullptr) return;
    if (!make_state_folder(context_.io())) return;
    const std::filesystem::path folder = state_folder(context_.io()) + "/history";
    std::error_code ignored;  // Without a history one can still talk.
    std::filesystem::create_directories(folder, ignored);
    editor_->use_history((folder / session_->session().id().text()).string());
  }

  // Ctrl-C while nothing runs; an exit code if it leaves.
  [[nodiscard]] std::optional<Exit> interrupted() {
    const int signal = signals_.renew();
    if (signal == SIGTERM) return Exit::terminated;
    if (std::exchange(is_leaving_, true)) return Exit::interrupted;
    context_.talk().line("");
    context_.talk().line({{"(Ctrl-C again leaves, as does /quit)", Ink::dim}});
    return std::nullopt;
  }

  Exit leave(Exit exit) {
    if (editor_ != nullptr) context_.talk().line("");  // The prompt's line has no end.
    if (session_) {
      context_.talk().line(
          {{"Kept. Go on: ", Ink::dim},
           {context_.command("chat " + context_.short_id(session_->session().id().text()))}});
    }
    return exit;
  }

  CommandContext& context_;
  Store& store_;
  SignalWatch& signals_;
  std::unique_ptr<LineEditor> editor_;
  AgentSource source_;
  std::unique_ptr<Agent> agent_;  ///< Outlives its session.
  std::optional<AgentSession> session_;
  std::optional<Waiting> waiting_;  ///< The call that the last turn left undecided.
  bool is_leaving_ = false;         ///< The next Ctrl-C leaves.
  bool is_terminated_ = false;      ///< The process was asked to end while a turn ran.
};

Result<void> start_chat(CommandContext& context, Store& store, Chat& chat) {
  const auto& words = context.given().arguments;
  const bool is_file = !words.empty() && names_agent_file(words.front(), context.io().folder);
  if (is_file || words.empty()) {
    return chat.prepare(
        source_of(context.given(), is_file ? words.front() : "", context.io().folder));
  }
  auto row = find_session(store, words.front());
  if (!row) return forward(row);
  return chat.resume(*row);
}

Result<Exit> run_chat(CommandContext& context) {
  if (!context.can_ask()) {
    return misuse(
        "a chat needs a terminal; in a script use perdure run AGENT.yaml PROMPT, then perdure "
        "resume SES PROMPT");
  }
  if (context.given().arguments.empty() && !context.given().has("model")) {
    return misuse(
        "with whom? perdure chat AGENT.yaml, perdure chat SES, or perdure chat --model M");
  }
  auto store = context.open_or_make();
  if (!store) return forward(store);
  Chat chat(context, **store);
  auto started = start_chat(context, **store, chat);
  if (!started) return exit_by(context.signals(), started.error());
  context.signals().hold();
  return chat.talk();
}

}  // namespace

Command chat_command() {
  return {
      .name = "chat",
      .summary = "Talk with an agent, line by line",
      .details =
          "Each line is a turn. The session is begun with the first line, and everything said "
          "is kept: leave when you like, perdure chat SES continues it. Ctrl-C stops the turn and "
          "keeps what came so far; a second one leaves. While the agent asks a question, a "
          "line is its answer; a call that waits for approval is let through by yes or "
          "/approve, or kept back by no or /deny REASON. /help lists what else can be typed.",
      .arguments = {{.name = "WITH",
                     .summary = "An agent file, or a session; not needed with --model",
                     .count = Argument::Count::maybe,
                     .by = Completes::session_or_file}},
      .options = with_model_options(with_take_up_options(
          {{.name = "title", .value = "TEXT", .summary = "What people call the session"}})),
      .exits = {Exit::unconfirmed, Exit::interrupted, Exit::terminated},
      .examples = {{"perdure chat refunds.yaml", "with the agent of a file"},
                   {"perdure chat @last", "continue the session that changed last"}},
      .body = {.run = run_chat, .opens_store = true}};
}

}  // namespace perdure::cli
