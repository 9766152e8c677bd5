// A loop that keeps its whole state, and never asks the model twice for the same step. Run it twice,
// or kill it anywhere in between.

#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include <perdure/adapters/saver.hpp>
#include <perdure/core/json.hpp>
#include <perdure/core/sha256.hpp>

using namespace perdure;

namespace {

RawJson ask_model(const std::string& question) {
  std::cout << "asking: " << question << '\n';
  return RawJson::from_value(Json(Json::Object{{"answer", "Answer to " + question}}));
}

/// The recorded answer, or, the first time, the model's. Empty while another process asks.
std::optional<RawJson> ask_once(CheckpointSaver& saver, const std::string& key,
                                const std::string& question) {
  const auto turn = saver.claim_step("support-42", key, to_hex(sha256(question))).value();
  if (const auto* done = std::get_if<CheckpointSaver::Step>(&turn)) return done->result;
  const auto* mine = std::get_if<CheckpointSaver::StepClaim>(&turn);
  if (mine == nullptr) return std::nullopt;
  RawJson answer = ask_model(question);
  saver.fill_step(*mine, answer).value();
  return answer;
}

}  // namespace

int main() {
  const auto saver = open_saver("saver.db").value();
  Json state = Json::Object{{"turn", 0}, {"messages", Json::Array{}}};
  if (const auto latest = saver->get("support-42").value()) {
    state = latest->state.read().value().value();
    std::cout << "going on after turn " << *state.find("turn")->as_int64() << '\n';
  }

  for (int turn = 1; turn <= 3; ++turn) {
    const auto answer = ask_once(*saver, "turn " + std::to_string(turn), "Why?");
    if (!answer) return 1;
    if (*state.find("turn")->as_int64() >= turn) continue;
    Json::Array messages = *state.find("messages")->as_array();
    messages.push_back(answer->value());
    state.set("messages", std::move(messages));
    state.set("turn", turn);
    (void)saver->put("support-42", RawJson::from_value(state)).value();  // On disk when it returns.
  }

  const auto last_two = saver->list("support-42", {}, 2).value();
  for (const auto& checkpoint : last_two) {
    std::cout << checkpoint.state.read().value().text() << '\n';
  }
}
