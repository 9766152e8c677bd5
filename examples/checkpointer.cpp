// Your own loop over the checkpointer. Run it twice: the email is sent once. Run it with an argument
// and it dies between the email and its record: then the call is in doubt, and not sent again.

#include <cstdlib>
#include <iostream>
#include <string>
#include <variant>

#include <perdure/adapters/checkpointer.hpp>
#include <perdure/core/json.hpp>
#include <perdure/runtime/tool.hpp>
#include <perdure/store/store.hpp>

using namespace perdure;

namespace {

RawJson json(const char* text) { return RawJson::from_text(text).value(); }

/// Sends the email unless it was sent, and returns the result for the model.
std::string send_once(Checkpointer& book, const SessionId& session, bool dies) {
  const Checkpointer::ToolCall call{
      .call_id = "call_1", .tool_name = "send_email", .args = json(R"({"to": "ann"})")};
  const auto answer = book.record_tool_call_issued(session, call).value();
  if (const auto* done = std::get_if<Checkpointer::Completed>(&answer)) {
    return "replay: " + done->result.value_or("its result is gone");
  }
  const auto* mine = std::get_if<Checkpointer::MayRun>(&answer);
  if (mine == nullptr) return "in doubt: look into the outbox";
  std::cout << "sending" << std::endl;  // The effect; `mine->key` is for the vendor.
  if (dies) std::_Exit(9);
  book.record_tool_call_result(session, mine->call, Succeeded{"sent"}).value();
  return "sent";
}

}  // namespace

int main(int argc, char** /*argv*/) {
  const auto store = open_store("checkpointer.db").value();
  const auto session = SessionId::parse("session-alpha").value();
  Checkpointer book(*store);

  book.start_session(session, json(R"([{"role": "user", "text": "Write to Ann."}])")).value();
  const auto loaded = book.load_latest(session).value().value();
  std::cout << "version " << loaded.version << ", "
            << book.check_pending_tool_calls(session).value().size() << " in doubt\n";

  const std::string told = send_once(book, session, argc > 1);
  Json messages = loaded.content.transcript.value();
  Json::Array all = *messages.as_array();
  all.push_back(Json::Object{{"role", "tool"}, {"text", told}});
  const Checkpointer::Content content{.transcript = RawJson::from_value(all),
                                      .spent_micros = loaded.content.spent_micros + 2'500};
  std::cout << told << ", version " << book.save_checkpoint(session, content).value() << '\n';
}
