// A call that waits keeps its turn: what is said meanwhile is recorded, and told once it is decided.

#include "live/chat.hpp"

#include <csignal>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

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
#include "perdure/agent/turn.hpp"
#include "perdure/core/error.hpp"
#include "perdure/runtime/conversation.hpp"
#include "perdure/runtime/session.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "screen/screen.hpp"
#include "screen/text.hpp"
#include "screen/words.hpp"
#include "verbs/live_options.hpp"

namespace perdure::cli {

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
  signals_.hold();
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
  if (!make_state_folder(desk_.world())) return;
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
                              .budget_micros = *budget,
                              .input = user_says(line)});
  if (!begun) return forward(begun);
  session_.emplace(*std::move(begun));
  remember_lines();
  desk_.talk().line({{"Session ", Ink::dim}, {session_->session().id().text(), Ink::dim}});
  return {};
}

Result<void> Chat::say(const std::string& line) {
  if (!session_) {
    if (auto begun = begin(line); !begun) return begun;
    return go_on(std::nullopt);
  }
  if (waiting_) desk_.talk().line(kept_words(*waiting_));
  return go_on(user_says(line));
}

Result<void> Chat::go_on(std::optional<Message> input) {
  const TurnEnd end = play(std::move(input));
  if (end.error && end.error->code == ErrorCode::lease_lost) return std::unexpected(*end.error);
  return {};
}

Result<void> Chat::give(const GivenWord& word) {
  auto given = give_word(session_->session(), waiting_->call, word, desk_.world().user);
  if (!given && given.error().code == ErrorCode::lease_lost) return given;
  if (!given) desk_.talk().line(given.error().message);
  if (!given && given.error().subject == "call_denied") return {};
  return go_on(std::nullopt);
}

TurnEnd Chat::play(std::optional<Message> input) {
  const LiveSession live{.store = store_, .agent = *session_, .signals = signals_};
  TurnEnd end = play_turn(desk_, live, std::move(input), false);
  end.signal = signals_.renew();  // The one that stopped the turn is not the one that leaves.
  is_leaving_ = end.signal != 0;
  is_terminated_ = end.signal == SIGTERM;
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
  if (!desk_.is_terminal()) desk_.screen().text(end.report.answer, Lines::prose);
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
  const int signal = signals_.renew();
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
    if (is_terminated_) return leave(Exit::terminated);
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

}  // namespace perdure::cli
