// Asks a model one question, streams the answer, and prints its cost:
//   models script FILE
//   models anthropic MODEL          the key is in ANTHROPIC_API_KEY
//   models chat MODEL               the key, if there is one, in OPENAI_API_KEY
// BASE_URL is the address of another server than the vendor's.

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <perdure/agent/provider.hpp>

using namespace perdure;

namespace {

std::optional<std::string> from_environment(const std::string& name) {
  const char* const found = std::getenv(name.c_str());
  return found == nullptr ? std::nullopt : std::optional<std::string>(found);
}

// [make]
Result<std::unique_ptr<Provider>> make(const std::string& kind, const std::string& file) {
  const ModelServices services{.clock = system_clock(), .ids = random_ids()};
  HttpProviderOptions http;
  http.base_url = from_environment("BASE_URL").value_or("");
  if (kind == "anthropic") {
    auto key = api_key_from_environment(from_environment, "ANTHROPIC_API_KEY");
    if (!key) return forward(key);
    http.key = *std::move(key);
    return make_anthropic({.http = std::move(http)}, services);
  }
  if (kind == "chat") {
    // Local servers need none.
    if (auto key = api_key_from_environment(from_environment, "OPENAI_API_KEY")) http.key = *key;
    return make_chat_completions({.http = std::move(http)}, services);
  }
  std::ifstream script(file);
  return make_scripted(std::string(std::istreambuf_iterator<char>(script), {}));
}
// [end]

class Printer final : public ModelObserver {
 public:
  void on_text(std::string_view piece) override { std::cout << piece << std::flush; }
  void on_retry(const RetryNotice& notice) override {
    std::cerr << "again in " << notice.wait.count() << " ms: " << notice.why << '\n';
  }
};

// [cost]
void tell_cost(const ModelResponse& response) {
  Prices prices = Prices::built_in();
  prices.set("my-model", {.input = 500'000, .output = 2'250'000, .cache_read = 500'000});
  const ModelUsage& usage = response.usage;
  std::cout << "\n[" << usage.tokens_in << " tokens in, " << usage.tokens_out << " out, ";
  if (const auto price = prices.find(response.model)) {
    std::cout << cost_of(*price, usage) << " micros]\n";
  } else {
    std::cout << "cost unknown]\n";
  }
}
// [end]

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const auto provider = make(argv[1], argv[2]);
  if (!provider) {
    std::cerr << provider.error().message << '\n';
    return 1;
  }

  Setup setup;
  setup.model = argv[2];
  setup.system_prompt = "Answer in one sentence.";
  const std::vector<Message> messages = {user_says("Why is the sky blue?")};
  (*provider)->prepare({.setup = setup, .messages = messages}).value();

  Printer printer;
  const ModelOutcome outcome = (*provider)->send(printer, {});
  if (const auto* response = std::get_if<ModelResponse>(&outcome)) {
    tell_cost(*response);
    return 0;
  }
  if (const auto* cut = std::get_if<CutOff>(&outcome)) {
    std::cerr << "\ncut off: " << cut->error.message << '\n';
  } else {
    std::cerr << std::get<NotAnswered>(outcome).error.message << '\n';
  }
  return 1;
}
