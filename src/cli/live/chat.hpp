// Talking with an agent, line by line. A session is begun with the first line, and kept when one
// leaves: nothing of a chat is only in this process.

#pragma once

#include <memory>
#include <optional>
#include <string>

#include "desk.hpp"
#include "exit.hpp"
#include "live/agent_source.hpp"
#include "live/chat_lines.hpp"
#include "live/line_editor.hpp"
#include "live/signal_watch.hpp"
#include "live/turn_end.hpp"
#include "perdure/agent/agent.hpp"
#include "perdure/core/error.hpp"
#include "perdure/runtime/calls.hpp"
#include "perdure/runtime/conversation.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"

namespace perdure::cli {

class Chat {
 public:
  Chat(Desk& desk, Store& store) : desk_(desk), store_(store), signals_(desk.signals()) {
    if (desk.world().signals != nullptr)
      editor_ = std::make_unique<LineEditor>(signals_.descriptor());
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
  bool is_terminated_ = false;      ///< Somebody ended the process while a turn ran.
};

}  // namespace perdure::cli
