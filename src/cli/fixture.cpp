// The sessions of the golden files: one refunded after a doubt, one in doubt, two that wait for a
// person, a running one, one left behind, an old one, a child, and one with hostile words.

#include "fixture.hpp"

#include <chrono>
#include <filesystem>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "doubles/places.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "runtime/api/records.hpp"
#include "runtime/api/session.hpp"

namespace perdure::cli {
namespace {

namespace fs = std::filesystem;

Message calls_for(const std::string& tool, const std::string& args, const std::string& words = {}) {
  Message message{.role = Role::assistant};
  if (!words.empty()) message.blocks.emplace_back(TextBlock{.text = words});
  message.blocks.emplace_back(ToolCallBlock{.id = "toolu_1", .name = tool, .args = args});
  return message;
}

Tools fixture_tools() {
  const auto loses = [](const CallContext&) { return Doubtful{"the connection was lost"}; };
  const auto does = [](const CallContext&) { return Succeeded{R"({"status": "paid"})"}; };
  return must(Tools::of({
      {.name = "orders.get", .side_effects = SideEffects{.read = true}, .run = does},
      {.name = "pay.refund",
       .side_effects = SideEffects{.network = true, .mutate = true},
       .run = loses},
      {.name = "mail.send",
       .side_effects = SideEffects{.network = true, .mutate = true},
       .run = does},
      {.name = "ask_user", .side_effects = SideEffects{.read = true}, .run = does},
  }));
}

Policy fixture_policy() {
  Policy policy;
  policy.permit = [](const State&, const ProposedCall& proposed) {
    const ToolCallBlock& call = proposed.call();
    const auto args = parse_args(call.args);
    const bool is_asked = call.name == "ask_user" ||
                          (call.name == "mail.send" && args && args->find("to") != nullptr);
    return is_asked ? PermitDecision::ask("it is a rule") : PermitDecision::allow();
  };
  return policy;
}

}  // namespace

CliFixture::CliFixture(const Backend& backend) : home_(backend) {
  environment["PERDURE_STORE"] = location();
  environment["TERM"] = "dumb";  // No colours, unless they are asked for.
  environment["HOME"] = folder.path().string();
  fs::copy(fs::path(repository_root()) / "src/cli/agents", folder.path());
  store_ = must(
      open_store(location(), {.durability = Durability::process, .clock = &clock, .ids = &ids}));
  runtime_ = must(Runtime::start(*store_, {.host = "here",
                                           .pid = 7,
                                           .lease_time = std::chrono::hours(24),
                                           .renews_itself = false,
                                           .tools = fixture_tools(),
                                           .policy = fixture_policy(),
                                           .clock = &clock,
                                           .ids = &ids}));
}

CliFixture::~CliFixture() = default;

Said CliFixture::run(const std::vector<std::string>& words, std::optional<int> columns) {
  std::ostringstream out;
  std::ostringstream err;
  const bool is_terminal = columns.has_value();
  ProcessIo io{.out = out,
               .err = err,
               .is_out_terminal = is_terminal,
               .is_err_terminal = is_terminal,
               .is_in_terminal = is_terminal,
               .columns = columns.value_or(80),
               .environment = [this](const std::string& name) -> std::optional<std::string> {
                 const auto found = environment.find(name);
                 return found == environment.end() ? std::nullopt : std::optional(found->second);
               },
               .folder = folder.path().string(),
               .user = "ana",
               .ask_line = [this] { return typed; },
               .clock = &clock,
               .ids = &ids};
  const int exit = cli::run(io, words);
  return {out.str(), err.str(), exit};
}

Session CliFixture::begin(const std::string& id, const std::string& title) {
  return must(
      runtime_->create({.id = must(SessionId::parse(id)),
                        .annotation = {.title = title},
                        .setup = Setup{.system_prompt = "Be brief.", .model = "scripted"}}));
}

void CliFixture::converse(Session& session, const std::string& input, const std::string& answer) {
  must(session.record_request({.model = "scripted"}, user_says(input)));
  pass(2);
  must(session.record_response(assistant_says(answer),
                               {.tokens_in = 900, .tokens_out = 40, .cost_micros = 3300}));
}

void CliFixture::make_refund() {
  Session session = begin("ses_7k2mq4", "Refund order 4711");
  must(session.annotate(
      {.opening = "Look up order 4711", .tags = std::vector<std::string>{"prod"}}));
  must(session.record_request({.model = "scripted"}, user_says("Look up order 4711")));
  pass(4);
  must(session.record_response(calls_for("orders.get", R"({"order": 4711})", "I look it up."),
                               {.tokens_in = 1000, .tokens_out = 204, .cost_micros = 4000}));
  must(session.run_calls());
  must(session.record_request({.model = "scripted"}));
  pass(1);
  must(session.record_response(assistant_says("It is paid."),
                               {.tokens_in = 1300, .tokens_out = 12}));
  must(session.count("lookups"));
  pass(600);
  must(session.record_request({.model = "scripted"}, user_says("Refund it")));
  pass(3);
  must(session.record_response(calls_for("pay.refund", R"({"order": 4711})"),
                               {.tokens_in = 1400, .tokens_out = 30}));
  pass(1);
  const CallsReport calls = must(session.run_calls());
  pass(120);
  must(session.resolve(calls.waiting->call, {.as = Decision::As::succeeded,
                                             .result = R"({"refund_id": "rf_88"})",
                                             .who = "ana",
                                             .why = "seen in the payment console"}));
  must(session.record_request({.model = "scripted"}));
  pass(3);
  must(session.record_response(assistant_says("It is refunded: rf_88."),
                               {.tokens_in = 1500, .tokens_out = 20}));
  must(session.finish("refunded"));
}

void CliFixture::make_doubtful() {
  Session session = begin("ses_2b7x00", "Migrate billing cron");
  must(session.record_request({.model = "scripted"}, user_says("Refund everybody")));
  pass(2);
  must(session.record_response(calls_for("pay.refund", R"({"order": 1})"),
                               {.tokens_in = 500, .tokens_out = 20}));
  pass(1);
  must(session.run_calls());
}

void CliFixture::make_pair(const std::string& id) {
  Session session = begin(id, "Refund and write");
  must(session.record_request({.model = "scripted"}, user_says("Refund, then write")));
  Message both = calls_for("pay.refund", R"({"order": 2})");
  both.blocks.emplace_back(
      ToolCallBlock{.id = "toolu_2", .name = "mail.send", .args = R"({"to": "ann"})"});
  must(session.record_response(std::move(both)));
  must(session.run_calls());
}

void CliFixture::make_waiting() {
  Session approval = begin("ses_8e1f00", "Write to Ann");
  must(approval.record_request({.model = "scripted"}, user_says("Write to Ann")));
  must(approval.record_response(calls_for("mail.send", R"({"to": "ann"})")));
  must(approval.run_calls());
  Session question = begin("ses_6a3e00", "Ask for the colour");
  must(question.record_request({.model = "scripted"}, user_says("Paint it")));
  must(question.record_response(calls_for("ask_user", R"({"question": "Which colour?"})")));
  must(question.run_calls());
}

void CliFixture::make_others() {
  {
    Session left = begin("ses_5d0c00", "Weekly report");
    must(left.record_request({.model = "scripted"}, user_says("Send the report")));
    must(left.record_response(
        calls_for("mail.send", "{}")));  // Its process is gone before the answer.
  }
  {
    Session hostile = begin("ses_0bad00", "Words \u202e of others");
    must(hostile.annotate({.opening = "An \u2066 opening"}));
    converse(hostile, "Show me \x1b[2Jeverything",
             "\x1b[31mred\x1b[0m\nand \xc2\x9b"
             "31m more");
    must(spawn(hostile,
               {.id = must(SessionId::parse("ses_0chi1d")), .annotation = {.title = "A child"}}));
    must(hostile.set_status({.status = Status::paused, .wait_reason = "over night"}));
  }
  running_ = begin("ses_9pq400", "Triage inbox");
  converse(*running_, "What is new?", "Three letters.");
}

void CliFixture::fill() {
  {
    Session old = begin("ses_01d000", "From last year");
    converse(old, "Hello", "Good day.");
    must(old.finish("done"));
  }
  clock.set_wall(clock.now() + std::chrono::days(40));
  make_refund();
  pass(3600);
  make_doubtful();
  make_waiting();
  pass(3600);
  make_others();
  pass(90);
}

}  // namespace perdure::cli
