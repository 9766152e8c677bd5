// What all tests over the model servers begin with.

#include "models/client.hpp"

#include <chrono>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "models/streams.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/state.hpp"

namespace perdure::models {
namespace {

std::unique_ptr<Provider> anthropic_at(const std::string& url, HttpProviderOptions http,
                                       const ModelServices& services) {
  http.base_url = url;
  return make_anthropic({.http = std::move(http)}, services).value();
}

std::unique_ptr<Provider> chat_at(const std::string& url, HttpProviderOptions http,
                                  const ModelServices& services) {
  http.base_url = url + "/v1";
  return make_chat_completions({.http = std::move(http)}, services).value();
}

}  // namespace

const std::vector<Format>& formats() {
  static const std::vector<Format> all = {
      {"Anthropic", anthropic_at, anthropic_events, anthropic_response},
      {"Chat", chat_at, chat_events, chat_response}};
  return all;
}

ModelServices services() {
  return {.clock = system_clock(),
          .ids = random_ids(),
          .wait = [](Duration, const std::stop_token& stop) { return !stop.stop_requested(); }};
}

HttpProviderOptions options() {
  HttpProviderOptions options;
  options.key = ApiKey::from_text(std::string(planted_key)).value();
  options.timeouts = {.connect = std::chrono::minutes(5),
                      .first_byte = std::chrono::minutes(5),
                      .idle = std::chrono::minutes(5)};
  return options;
}

Setup small_setup() {
  Setup setup;
  setup.system_prompt = "Be brief.";
  setup.model = "test-1";
  setup.tools.push_back(
      {.name = "read",
       .description = "Reads a file.",
       .input_schema = RawJson::from_text(R"({"type": "object", "properties": {}})").value()});
  return setup;
}

ModelOutcome ask(Provider& provider, ModelObserver& observer, const std::stop_token& stop) {
  const Setup setup = small_setup();
  const std::vector<Message> messages = {user_says("How is the weather in 東京?")};
  const auto prepared = provider.prepare({.setup = setup, .messages = messages});
  if (!prepared) return NotAnswered{.error = prepared.error()};
  return provider.send(observer, stop);
}

}  // namespace perdure::models
