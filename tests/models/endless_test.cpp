// Servers that send without end. A program of its own, because it counts what the process allocates.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <gtest/gtest.h>
#include <malloc.h>
#include <new>
#include <string>
#include <variant>

#include "models/client.hpp"
#include "models/model_server.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/runtime/state.hpp"

namespace {

std::atomic<std::size_t> held = 0;
std::atomic<std::size_t> most = 0;

}  // namespace

void* operator new(std::size_t size) {
  void* const block = std::malloc(size);
  if (block == nullptr) throw std::bad_alloc();
  const std::size_t now = held += malloc_usable_size(block);
  for (std::size_t before = most; before < now && !most.compare_exchange_weak(before, now);) {
  }
  return block;
}

void operator delete(void* block) noexcept {
  if (block != nullptr) held -= malloc_usable_size(block);
  std::free(block);
}

void operator delete(void* block, std::size_t /*size*/) noexcept { operator delete(block); }

namespace perdure::models {
namespace {

constexpr std::size_t limit = std::size_t{4} << 20U;
constexpr std::size_t a_few_times = 4;

/// Keeps nothing of what it is told: what is held is the provider's.
class Unmoved final : public ModelObserver {
  void on_text(std::string_view /*piece*/) override {}
  void on_reasoning(std::string_view /*piece*/) override {}
  void on_call(const ToolCallBlock& /*call*/) override {}
  void on_retry(const RetryNotice& /*notice*/) override {}
};

class EndlessAnswer : public testing::TestWithParam<Format> {
 protected:
  ModelOutcome ask_for(const std::string& behaviour) {
    HttpProviderOptions small = options();
    small.response_bytes_max = limit;
    const auto provider = GetParam().make(server.url(behaviour), small, services());
    const std::size_t before = held;
    most = before;
    ModelOutcome outcome = ask(*provider, listener);
    EXPECT_LT(most - before, a_few_times * limit) << behaviour;
    return outcome;
  }

  ModelServer server;
  Unmoved listener;
};

bool is_told(const Error& error, std::string_view words) {
  return error.message.find(words) != std::string::npos;
}

TEST_P(EndlessAnswer, IsCutOffAtItsLimitAndHeldAFewTimes) {
  for (const char* const kind :
       {"text", "texts", "joins", "details", "calls", "comments", "line", "string", "values"}) {
    const ModelOutcome outcome = ask_for(kind);
    const auto* const cut = std::get_if<CutOff>(&outcome);
    ASSERT_NE(cut, nullptr) << kind;
    const bool are_calls = std::string_view(kind) == "calls";
    EXPECT_TRUE(is_told(cut->error, are_calls
                                        ? "more than 4096"
                                        : "more than 4194304 bytes (model.response_bytes_max)"))
        << kind << ": " << cut->error.message;
    EXPECT_TRUE(cut->so_far.message.is_partial);
    EXPECT_FALSE(cut->so_far.usage.is_known);
    const bool is_text = std::string_view(kind).starts_with("text");
    EXPECT_EQ(text_of(cut->so_far.message).empty(), !is_text) << kind;
  }
}

TEST_P(EndlessAnswer, OfHeadersOrOfAnErrorIsNoLongerReadEither) {
  const ModelOutcome headers = ask_for("headers");
  const auto& lost = std::get<NotAnswered>(headers);
  EXPECT_TRUE(is_told(lost.error, "bytes of headers")) << lost.error.message;
  EXPECT_TRUE(lost.may_be_paid);

  const ModelOutcome refusal = ask_for("refusal400");
  const auto& refused = std::get<NotAnswered>(refusal);
  EXPECT_TRUE(is_told(refused.error, "said 400: no, and no, and x")) << refused.error.message;
  EXPECT_FALSE(refused.may_be_paid);
}

INSTANTIATE_TEST_SUITE_P(EveryFormat, EndlessAnswer, testing::ValuesIn(formats()),
                         [](const auto& format) { return format.param.name; });

}  // namespace
}  // namespace perdure::models
