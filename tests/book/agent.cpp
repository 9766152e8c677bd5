// An agent of the book's chapter 21, as a process that can be killed.
//
//   book_agent <file> <session> turns <last>       loads, and takes turns up to <last>; for each it
//                                                  waits for a line of input, and says "turn <n>"
//   book_agent <file> <session> send <outbox> [die]    asks to send one email, which is a line in
//                                                  the file <outbox>; may die before it says so
//   book_agent <file> <session> race <outbox>      says "ready", waits for a line, then sends one
//                                                  that is once per store
//   book_agent <file> <session> hold               starts the session, says "held", waits for a line

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <iostream>
#include <memory>
#include <span>
#include <string>
#include <unistd.h>
#include <utility>
#include <variant>
#include <vector>

#include "perdure/adapters/checkpointer.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/store.hpp"

namespace {

using namespace perdure;  // NOLINT(google-build-using-namespace): a program of its own.

void say(const std::string& line) {
  const std::string text = line + "\n";
  if (write(STDOUT_FILENO, text.data(), text.size()) < 0) _exit(3);
}

template <class T>
T must(Result<T> result) {
  if (!result) {
    say(fmt::format("trouble {}: {}", to_string(result.error().code), result.error().message));
    _exit(1);
  }
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

void hear() {
  std::string line;
  std::getline(std::cin, line);
}

/// The tool: its effect is a line in a file, which nobody takes back.
void send_email(const std::string& outbox) {
  const int file = open(outbox.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0 || write(file, "email\n", 6) != 6) _exit(4);
  close(file);
}

class Agent {
 public:
  Agent(Store& store, SessionId session) : book_(store), session_(std::move(session)) {}

  void take_turns(int last) {
    const auto loaded = must(book_.load_latest(session_));
    must(book_.start_session(session_));
    Checkpointer::Content content = loaded ? loaded->content : Checkpointer::Content{};
    const int done = loaded ? static_cast<int>(loaded->version) : 0;
    say(fmt::format("loaded {} {} {}", done, content.spent_micros, content.transcript.text()));
    for (int turn = done + 1; turn <= last; ++turn) {
      hear();
      must(book_.save_checkpoint(session_, next(content, turn)));
      say(fmt::format("turn {}", turn));
    }
    // The next turn is under way when the end comes.
    hear();
  }

  void send(const std::string& outbox, bool dies) {
    must(book_.start_session(session_));
    send_once({.call_id = "call_1",
               .tool_name = "send_email",
               .args = must(RawJson::from_text(R"({"to": "ann"})"))},
              outbox, dies);
  }

  void race(const std::string& outbox) {
    must(book_.start_session(session_));
    say("ready");
    hear();
    send_once({.tool_name = "publish", .repeat = Repeat::once_per_store}, outbox, false);
  }

  void hold() {
    must(book_.start_session(session_));
    say("held");
    hear();
  }

 private:
  static const Checkpointer::Content& next(Checkpointer::Content& content, int turn) {
    std::string list = content.transcript.text();
    list.pop_back();
    if (turn > 1) list += ",";
    list += fmt::format(R"({{"role":"user","blocks":[{{"kind":"text","text":"{0}"}}]}},)"
                        R"({{"role":"assistant","blocks":[{{"kind":"text","text":"{0}!"}}]}}])",
                        turn);
    content.transcript = must(RawJson::from_text(std::move(list)));
    content.plan = must(RawJson::from_text(fmt::format(R"({{"step":{}}})", turn)));
    content.spent_micros += 250'000;
    return content;
  }

  void send_once(const Checkpointer::ToolCall& call, const std::string& outbox, bool dies) {
    const auto answer = must(book_.record_tool_call_issued(session_, call));
    if (const auto* done = std::get_if<Checkpointer::Completed>(&answer)) {
      say("replay " + done->result.value_or("gone"));
    } else if (const auto* open = std::get_if<Checkpointer::Pending>(&answer)) {
      say(open->is_running ? "running" : "in doubt");
    } else {
      send_email(outbox);
      if (dies) (void)raise(SIGKILL);
      must(book_.record_tool_call_result(session_, std::get<Checkpointer::MayRun>(answer).call,
                                         Succeeded{"sent"}));
      say("sent");
    }
  }

  Checkpointer book_;
  SessionId session_;
};

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv, argv + argc);
  const auto store = must(open_store(words.at(1)));
  Agent agent(*store, must(SessionId::parse(words.at(2))));
  const std::string& what = words.at(3);
  if (what == "turns") agent.take_turns(std::stoi(words.at(4)));
  if (what == "send") agent.send(words.at(4), words.size() > 5);
  if (what == "race") agent.race(words.at(4));
  if (what == "hold") agent.hold();
}
