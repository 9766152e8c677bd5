// An agent that may be killed at any moment, also while its tool waits for you. Start it again and
// it continues where it stopped: your answers are not asked again, the model's responses are kept.
//
//   perdure_resumed_agent trip.db    # answer a question or two, then: kill -9, and run it again

#include <iostream>
#include <string>
#include <vector>

#include <perdure/runtime/runtime.hpp>
#include <perdure/runtime/state.hpp>
#include <perdure/store/store.hpp>

using namespace perdure;

namespace {

ToolOutcome ask_person(const CallContext& call) {
  const auto question = call.args.get<std::string>("question");
  if (!question) return Failed{question.error().message};
  std::cout << *question << std::endl;
  std::string answer;
  if (!std::getline(std::cin, answer)) return Failed{"nobody is there"};
  return Succeeded{answer};
}

/// A scripted model: its response depends only on the conversation.
Message ask_model(const std::vector<Message>& conversation) {
  std::vector<std::string> told;
  for (const Message& message : conversation) {
    const auto* result = std::get_if<ToolResultBlock>(&message.blocks.front());
    if (result != nullptr) told.push_back(result->content);
  }
  std::cout << "(the model is told " << told.size() << " answers)" << std::endl;
  if (told.size() == 3)
    return assistant_says(told[0] + ", " + told[1] + ", " + told[2] + ": done!");
  const std::vector<std::string> questions = {"Where to?", "When?", "With whom?"};
  const Json args(Json::Object{{"question", questions[told.size()]}});
  return {.role = Role::assistant,
          .blocks = {ToolCallBlock{.id = "call_0", .name = "ask_person", .args = args.text()}}};
}

}  // namespace

int main(int /*count*/, char** words) {
  const auto store = open_store(words[1]).value();
  const Tool ask{.name = "ask_person",
                 .side_effects = SideEffects{.read = true},  // After a crash it is called again.
                 .timeout = std::chrono::hours(24),
                 .run = ask_person};
  const auto runtime = Runtime::start(*store, {.tools = Tools::of({ask}).value()}).value();
  const auto id = SessionId::parse("my trip").value();

  (void)runtime->create({.id = id});  // From the second run on it already exists.
  auto [session, report] = runtime->resume(id).value();
  std::cout << "(" << report.steps << " steps were done before)" << std::endl;

  const auto& transcript = session.state().transcript;
  if (transcript.empty()) session.append(user_says("A trip, please.")).value();
  while (transcript.back().message.role == Role::user) {
    session.record_request().value();  // On disk before the model is asked.
    session.record_response(ask_model(provider_messages(session.state()))).value();
    session.run_calls().value();
  }
  std::cout << text_of(transcript.back().message) << std::endl;
}
