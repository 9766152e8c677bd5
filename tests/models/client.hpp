// Our own client, aimed at a model server: one of each format.

#pragma once

#include <memory>
#include <ostream>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/streams.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/state.hpp"

namespace perdure::models {

inline constexpr std::string_view planted_key = "sk-planted-0123456789";

/// A format of the servers, and what is expected of a whole stream of it.
struct Format {
  std::string name;
  std::unique_ptr<Provider> (*make)(const std::string& url, HttpProviderOptions options,
                                    const ModelServices& services);
  std::vector<std::string> (*events)(std::size_t);
  ModelResponse (*response)(std::size_t);
};

/// For gtest: bytes of pointers are no name.
inline void PrintTo(const Format& format, std::ostream* out) { *out << format.name; }

[[nodiscard]] const std::vector<Format>& formats();

/// Keeps what it was told.
class Listener final : public ModelObserver {
 public:
  void on_text(std::string_view piece) override { text += piece; }
  void on_reasoning(std::string_view piece) override { reasoning += piece; }
  void on_call(const ToolCallBlock& call) override { calls.push_back(call); }
  void on_retry(const RetryNotice& notice) override { waits.push_back(notice.wait); }

  std::string text;
  std::string reasoning;
  std::vector<ToolCallBlock> calls;
  std::vector<Duration> waits;
};

/// The machine's time and chance; waits are not waited for.
[[nodiscard]] ModelServices services();

/// With the planted key, and the patience of a machine that is busy with other things.
[[nodiscard]] HttpProviderOptions options();

[[nodiscard]] Setup small_setup();

/// Prepares a conversation of one question, and sends it.
[[nodiscard]] ModelOutcome ask(Provider& provider, ModelObserver& observer,
                               const std::stop_token& stop = {});

}  // namespace perdure::models
