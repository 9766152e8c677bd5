// All code of docs/sessions.md, in one program. The parts between `// [name]` and `// [end]` are in
// that document, word for word; its test compares the program's output.
//
//   perdure_sessions_guide

#include <iostream>
#include <string>
#include <vector>

#include <perdure/runtime/runtime.hpp>
#include <perdure/runtime/state.hpp>
#include <perdure/store/store.hpp>

using namespace perdure;

namespace {

/// A model's response that asks for a call of a tool.
Message asks_for(const std::string& tool, const std::string& args) {
  return {.role = Role::assistant,
          .blocks = {ToolCallBlock{.id = "call_1", .name = tool, .args = args}}};
}

/// A scripted model: it looks at the weather once, and then reports it.
Message ask_model(const std::vector<Message>& conversation) {
  const Message& last = conversation.back();
  if (const auto* result = std::get_if<ToolResultBlock>(&last.blocks.front())) {
    return assistant_says("It is " + result->content + ".");
  }
  return asks_for("look", R"({"city": "Rome"})");
}

ToolOutcome lose_the_connection(const CallContext& /*call*/) { return Doubtful{"connection lost"}; }

// [tools]
Tool look() {
  return {.name = "look",
          .side_effects = SideEffects{.read = true, .network = true},
          .run = [](const CallContext&) { return Succeeded{"sunny"}; }};
}

Tool write_file() {
  return {.name = "write_file",
          .side_effects = SideEffects{.write = true},
          .honours_key = true,  // The same key again changes nothing.
          .run = [](const CallContext& call) { return Succeeded{"written as " + call.key}; }};
}

Tool pay() {
  return {.name = "pay",
          .side_effects = SideEffects{.network = true, .mutate = true},
          .repeat = Repeat::once_per_session,
          .business_key = "/invoice",
          .in_flight_max = std::chrono::minutes(5),
          .run = lose_the_connection,
          .verify = [](const VerifyContext&) { return Landed{"paid"}; }};
}

Tool send_email() {
  return {.name = "send_email",
          .side_effects = SideEffects{.network = true, .mutate = true},
          .run = lose_the_connection};
}
// [end]

// [turn]
void run_turn(Session& session, const std::string& input) {
  session.append(user_says(input)).value();
  while (session.state().transcript.back().message.role == Role::user) {
    session.record_request({.model = "scripted"}).value();
    const Message response = ask_model(provider_messages(session.state()));
    session.record_response(response, {.tokens_in = 900, .tokens_out = 40, .cost_micros = 3'300})
        .value();
    const CallsReport calls = session.run_calls().value();
    if (calls.waiting) return;  // For a decision, or for a time: see below.
  }
}
// [end]

void show_classes() {
  const std::vector<Tool> tools = {look(), write_file(), pay(), send_email()};
  for (const Tool& tool : tools) {
    std::cout << tool.name << ": " << to_string(effect_class_of(tool)) << '\n';
  }
}

void begin(Store& store) {
  // [begin]
  const auto tools = Tools::of({look(), write_file(), pay(), send_email()}).value();
  const auto runtime = Runtime::start(store, {.tools = tools}).value();
  const auto id = SessionId::parse("rome").value();
  (void)runtime->create({.id = id,
                         .annotation = {.title = "Weather in Rome"},
                         .setup = Setup{.system_prompt = "Be brief.", .model = "scripted"}});
  auto [session, report] = runtime->resume(id).value();
  // [end]
  run_turn(session, "How is the weather in Rome?");
  std::cout << text_of(session.state().transcript.back().message) << '\n';
}

void verify(Runtime& runtime) {
  auto session = runtime.create().value();
  session.record_request({}, user_says("Pay invoice 7.")).value();
  session.record_response(asks_for("pay", R"({"invoice": 7})")).value();
  // [verified]
  const CallsReport calls = session.run_calls().value();
  std::cout << "run " << calls.run << ", verified " << calls.verified
            << '\n';  // 1 and 1: paid once.
  // [end]
  const Block& told = session.state().transcript.back().message.blocks.front();
  std::cout << "the model is told: " << std::get<ToolResultBlock>(told).content << '\n';
}

void resolve(Store& store, Runtime& runtime) {
  auto session = runtime.create().value();
  session.record_request({}, user_says("Write to Ann.")).value();
  session.record_response(asks_for("send_email", R"({"to": "ann"})")).value();
  // [doubt]
  const CallsReport calls = session.run_calls().value();
  if (calls.waiting && calls.waiting->what == Waiting::For::decision) {
    std::cout << calls.waiting->tool << " is in doubt: " << calls.waiting->why << '\n';
  }
  // [end]
  // [attention]
  const auto page = store.sessions().list({.needs_attention = true}).value();
  for (const SessionSummary& row : page.sessions)
    std::cout << "look at: " << row.wait_reason << '\n';
  // [end]
  // [resolve]
  session
      .resolve(calls.waiting->call, {.as = Decision::As::succeeded,
                                     .result = "sent",
                                     .who = "ann@example.org",
                                     .why = "I have it in my inbox"})
      .value();
  session.run_calls().value();  // Continues with the calls after it.
  // [end]
  std::cout << "status: " << to_string(session.status()) << '\n';
}

void approve(Store& store) {
  // [approval]
  Policy policy;
  policy.permit = [](const State& /*state*/, const ProposedCall& call) {
    const bool only_reads =
        call.tool != nullptr && effect_class_of(*call.tool) == EffectClass::read_only;
    return only_reads ? PermitDecision::allow() : PermitDecision::ask("it changes something");
  };
  const auto tools = Tools::of({write_file()}).value();
  const auto runtime = Runtime::start(store, {.tools = tools, .policy = policy}).value();
  // [end]
  auto session = runtime->create().value();
  session.record_request({}, user_says("Note it.")).value();
  session.record_response(asks_for("write_file", R"({"text": "v1"})")).value();
  // [mail]
  const CallsReport calls = session.run_calls().value();  // Waits: Waiting::For::approval.
  Mail mail(store, session.id());  // In any process that has the store open; needs no lease.
  const auto once =
      MessageId::parse("approve-1").value();  // Repeated under this id it counts once.
  mail.approve(once, calls.waiting->call, true, "ann@example.org", "go ahead").value();

  session.take_inbox().value();
  std::cout << "approved and run: " << session.run_calls().value().run << '\n';
  // [end]
}

void go_back(Runtime& runtime) {
  auto session = runtime.create({.setup = Setup{.system_prompt = "Be brief."}}).value();
  // [versions]
  run_turn(session, "How is the weather?");  // Ends with a version.
  run_turn(session, "And now?");
  const auto versions = session.versions().value();  // Newest first.
  const auto between = session.diff(Point::version(1), Point::version(2)).value();
  // [end]
  std::cout << versions.size() << " versions, " << between.messages_added.size()
            << " messages between them\n";
  // [fork]
  const Forked forked = runtime.fork(session.id(), Point::version(1)).value();
  for (const Call& call : forked.effects_after)
    std::cout << "would happen again: " << call.tool << '\n';
  auto fork = runtime.open(forked.id).value();
  fork.set(Setup{.system_prompt = "Be formal."}).value();
  // [end]
  // [rewind]
  session.rewind(Point::version(1)).value();
  // [end]
  std::cout << "rewound to " << session.state().transcript.size() << " messages; fork has "
            << fork.state().transcript.size() << '\n';
}

void spend(Runtime& runtime) {
  // [budget]
  auto session = runtime.create({.budget_micros = 10'000}).value();  // One cent.
  session.record_request({.model = "scripted", .reserve_micros = 8'000}, user_says("Hello?"))
      .value();
  session.record_response(assistant_says("Hello."), {.cost_micros = 3'300}).value();
  std::cout << "left: " << *session.state().budget.available() << '\n';

  const auto refused =
      session.record_request({.reserve_micros = 8'000}, user_says("Tell me more."));
  std::cout << to_string(refused.error().code) << " about " << refused.error().subject << '\n';
  // [end]
}

void meet(Store& store, Runtime& runtime) {
  // [holder]
  const auto session = runtime.create().value();
  const auto other = Runtime::start(store).value();  // Usually in another process.
  const auto refused = other->open(session.id(), std::chrono::milliseconds(10));
  std::cout << to_string(refused.error().code) << '\n';  // Its message names the holder.
  // [end]
}

Cadence every_ten_turns() {
  // [cadence]
  return {.at = Cadence::At::period, .turns = 10, .time = std::chrono::minutes(5)};
  // [end]
}

}  // namespace

int main() {
  const auto store = open_store("memory:").value();
  show_classes();
  begin(*store);
  const auto tools = Tools::of({look(), write_file(), pay(), send_email()}).value();
  const auto runtime = Runtime::start(*store, {.tools = tools}).value();
  verify(*runtime);
  resolve(*store, *runtime);
  approve(*store);
  go_back(*runtime);
  spend(*runtime);
  meet(*store, *runtime);

  const auto sparing =
      Runtime::start(*store, {.tools = tools, .policy = {.cadence = every_ten_turns()}}).value();
  auto session = sparing->create().value();
  for (int turn = 0; turn < 10; ++turn) run_turn(session, "Well?");
  std::cout << "10 turns, " << session.versions().value().size() << " version\n";
}
