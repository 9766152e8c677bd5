// The agent lives four times: it dies after the charge, it dies after the email, it stops because
// nobody can tell about the email, and it comes to its end once somebody has said what is true.

#include "invoice/episode.hpp"

#include <chrono>
#include <csignal>
#include <fmt/format.h>
#include <fstream>
#include <sys/wait.h>

#include "invoice/agent.hpp"
#include "perdure/runtime/mail.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/open.hpp"
#include "victim.hpp"

namespace invoice {

using namespace perdure;  // NOLINT(google-build-using-namespace): an example.

namespace {

constexpr auto patience = std::chrono::seconds(20);
constexpr std::int64_t spent_expected = 12'600;  // Three requests.

std::uint64_t lines_in(const std::string& path) {
  std::ifstream file(path);
  std::uint64_t count = 0;
  for (std::string line; std::getline(file, line);) ++count;
  return count;
}

// A look at a session that others run needs no lease: its log says it all.
Result<State> look_at(Store& store) {
  auto entries = store.log().read(session_id(), {});
  if (!entries) return forward(entries);
  State state;
  for (const Entry& entry : *entries) fold(state, entry);
  return state;
}

Question question_of(const Call& call, std::optional<std::string_view> args,
                     const Decision& decision) {
  return {.call = call_name(call.session, call.position),
          .tool = call.tool,
          .args = std::string(args.value_or("(its arguments are gone)")),
          .why = call.why,
          .since = to_iso8601(call.dispatched_at.value_or(Timestamp{})),
          .attempts = call.attempts,
          .said = fmt::format("{}, by {}: {}", to_string(decision.as), decision.who, decision.why)};
}

class Lives {
 public:
  Lives(std::string store_path, std::string world, const Audience& audience)
      : store_path_(std::move(store_path)), world_(std::move(world)), audience_(audience) {}

  Episode run() {
    const bool was_killed_twice = expect_killed() && expect_killed();
    if (!was_killed_twice || !expect_exit(exit_waits)) return std::move(episode_);
    if (auto decided = with_store(&Lives::decide); !decided) return std::move(episode_);
    if (expect_exit(exit_done)) with_store(&Lives::judge);
    return std::move(episode_);
  }

 private:
  void trouble(std::string what) { episode_.troubles.push_back(std::move(what)); }
  void expect(bool holds, std::string what) {
    if (!holds) trouble(std::move(what));
  }

  int live() {
    ++episode_.lives;
    demo::Victim victim({"--agent", store_path_, world_});
    while (const auto line = victim.read_line(victim.started() + patience)) {
      const std::size_t tab = line->find('\t');
      const std::string what = line->substr(0, tab);
      const std::string text = tab == std::string::npos ? "" : line->substr(tab + 1);
      if (what == "model") ++episode_.requests;
      if (what == "verify") ++episode_.verified;
      if (what == "trouble") trouble(text);
      audience_.hears(episode_.lives, what, text);
    }
    return victim.has_ended() ? victim.wait() : -1;
  }

  bool expect_killed() {
    const int status = live();
    const bool was_killed = status >= 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    expect(was_killed, fmt::format("life {} was not killed where it should be", episode_.lives));
    if (!was_killed) return false;
    ++episode_.deaths;
    audience_.hears(episode_.lives, "killed", "by SIGKILL, before its outcome was written down");
    return true;
  }

  bool expect_exit(int code) {
    const int status = live();
    const bool did = status >= 0 && WIFEXITED(status) && WEXITSTATUS(status) == code;
    expect(did, fmt::format("life {} did not end as it should", episode_.lives));
    return did;
  }

  // The store is open only while no agent is about to be killed.
  bool with_store(Result<void> (Lives::*act)(Store&)) {
    auto store = open_store(store_path_, {.create = false});
    auto done = store ? (this->*act)(**store) : Result<void>(forward(store));
    if (!done) trouble(fmt::format("{}: {}", to_string(done.error().code), done.error().message));
    return done.has_value();
  }

  Result<void> decide(Store& store) {
    auto row = store.sessions().read(session_id());
    if (!row) return forward(row);
    expect(row->status == Status::waiting && row->needs_attention(),
           "the session does not say that it needs attention");
    auto state = look_at(store);
    if (!state) return forward(state);
    for (const auto& [position, open] : state->open_calls) {
      auto call = store.ledger().read(row->id, position);
      if (!call) return forward(call);
      const Decision decision = look_into_outbox();
      auto told = Mail(store, row->id).resolve(mint<MessageTag>(random_ids()), position, decision);
      if (!told) return told;
      episode_.questions.push_back(question_of(*call, args_of(*state, open), decision));
      audience_.sees(episode_.questions.back());
    }
    return {};
  }

  // What the person does who is asked.
  [[nodiscard]] Decision look_into_outbox() const {
    const bool was_sent = lines_in(outbox_file(world_)) == 1;
    return {.as = was_sent ? Decision::As::succeeded : Decision::As::failed,
            .result = was_sent ? "sent" : "not sent",
            .who = "demo",
            .why = "looked into the outbox"};
  }

  Result<void> judge(Store& store) {
    episode_.charges = lines_in(bank_file(world_));
    episode_.emails = lines_in(outbox_file(world_));
    expect(episode_.charges == 1, fmt::format("the bank was charged {} times", episode_.charges));
    expect(episode_.emails == 1, fmt::format("Ann got {} emails", episode_.emails));
    expect(episode_.requests == 3, fmt::format("the model was asked {} times", episode_.requests));
    expect(episode_.questions.size() == 1,
           fmt::format("{} calls were in doubt", episode_.questions.size()));
    auto row = store.sessions().read(session_id());
    if (!row) return forward(row);
    expect(row->status == Status::completed && !row->needs_attention(),
           "the session is not completed");
    auto state = look_at(store);
    if (!state) return forward(state);
    const BudgetTotals& money = state->budget.totals;
    episode_.spent_micros = money.spent;
    expect(money.spent == spent_expected && money.recorded() == money.spent,
           fmt::format("{} micros were spent, {} recorded", money.spent, money.recorded()));
    return judge_calls(store);
  }

  Result<void> judge_calls(Store& store) {
    auto calls = store.ledger().list({.session = session_id()});
    if (!calls) return forward(calls);
    expect(calls->size() == 2, fmt::format("{} calls were made", calls->size()));
    for (const Call& call : *calls) {
      const std::string who = call.tool == "pay" ? "verify" : "demo";
      expect(call.state == CallState::succeeded && call.attempts == 1 && call.who == who,
             fmt::format("{} is {} after {} attempts, by {}", call.tool, to_string(call.state),
                         call.attempts, call.who));
    }
    return {};
  }

  const std::string store_path_;
  const std::string world_;
  const Audience& audience_;
  Episode episode_;
};

}  // namespace

Episode run_episode(const std::string& store_path, const std::string& world,
                    const Audience& audience) {
  return Lives(store_path, world, audience).run();
}

}  // namespace invoice
