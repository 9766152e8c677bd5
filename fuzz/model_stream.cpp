// Responses of models, in both formats: whatever comes, what is made of it can be stored, read back
// as it was, and sent again as JSON.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "models/dialect.hpp"
#include "models/http.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/state.hpp"
#include "runtime/api/records.hpp"
#include "target.hpp"

using perdure::fuzz::expect;

namespace {

void try_dialect(const perdure::Dialect& dialect, std::string_view bytes) {
  perdure::ModelObserver nobody;
  const auto stream = dialect.open(nobody);
  perdure::SseParser parser;
  const auto fed =
      parser.feed(bytes, [&](const perdure::SseEvent& event) { return stream->take(event); });
  static_cast<void>(fed);  // It may refuse anything.
  const perdure::ModelResponse response = stream->finish();
  expect(response.usage.tokens_in >= 0 && response.usage.tokens_out >= 0,
         "tokens are not negative");
  const auto stored = perdure::message_from_json(perdure::to_json(response.message));
  expect(stored.has_value(), "a response can be stored");
  expect(*stored == response.message, "and comes back as it was");
  for (const bool is_last : {false, true}) {
    const std::string text = dialect.message(*stored, is_last);
    expect(text.empty() || perdure::is_json("[" + text + "]"), "and is JSON when it is sent");
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  try_dialect(*perdure::anthropic_dialect({}), bytes);
  try_dialect(*perdure::chat_dialect({}), bytes);
  return 0;
}
