// A checkpointer over each backend, and words for what tests of it do over and over.

#pragma once

#include <cstdint>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "contract/backends.hpp"
#include "doubles/fake_clock.hpp"
#include "doubles/must.hpp"
#include "doubles/temp_folder.hpp"
#include "perdure/adapters/checkpointer.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/store/store.hpp"

namespace perdure {

inline RawJson json(std::string text) { return must(RawJson::from_text(std::move(text))); }

/// The book's message: `{"id", "role", "created_at", "blocks"}`.
inline std::string said(const std::string& role, const std::string& text) {
  return R"({"id": "m", "role": ")" + role +
         R"(", "created_at": "2026-01-01T00:00:00+00:00", "blocks": [{"kind": "text", "text": ")" +
         text + R"("}]})";
}

inline RawJson list(const std::vector<std::string>& messages) {
  std::string text = "[";
  for (const std::string& message : messages) text += (text.size() > 1 ? ", " : "") + message;
  return json(text + "]");
}

inline Checkpointer::ToolCall email(const std::string& to) {
  return {.call_id = "call_1", .tool_name = "send_email", .args = json(R"({"to": ")" + to + "\"}")};
}

template <class T>
std::optional<ErrorCode> code_of(const Result<T>& result) {
  return result ? std::nullopt : std::optional(result.error().code);
}

class BookSession : public testing::TestWithParam<Backend> {
 protected:
  using MayRun = Checkpointer::MayRun;
  using Completed = Checkpointer::Completed;
  using Pending = Checkpointer::Pending;

  /// Asks for the call, and is told to run it.
  Position run(const Checkpointer::ToolCall& call) {
    return std::get<MayRun>(must(book->record_tool_call_issued(session, call))).call;
  }
  /// All of it: asked for, run, and told.
  Position complete(const Checkpointer::ToolCall& call, const std::string& result) {
    const Position at = run(call);
    must(book->record_tool_call_result(session, at, Succeeded{result}));
    return at;
  }
  Checkpointer::Issued issue(const Checkpointer::ToolCall& call) {
    return must(book->record_tool_call_issued(session, call));
  }
  Version save(const std::vector<std::string>& messages, std::int64_t spent = 0) {
    return must(
        book->save_checkpoint(session, {.transcript = list(messages), .spent_micros = spent}));
  }
  /// This process ends, and another one begins.
  void restart() {
    book.reset();
    book = make();
  }
  /// `pid`: of the process that it stands for; 0: this one.
  std::unique_ptr<Checkpointer> make(std::int64_t pid = 0) {
    return std::make_unique<Checkpointer>(*store, CheckpointerOptions{.clock = &clock, .pid = pid});
  }
  [[nodiscard]] std::vector<Entry> entries(const std::string& channel) const {
    return must(store->log().read(session, {.channel = channel}));
  }

  StorePlace home{GetParam(), memory_folder()};
  FakeClock clock;
  const SessionId session = must(SessionId::parse("session-alpha"));
  std::unique_ptr<Store> store =
      must(open_store(home.location(), {.durability = Durability::process, .clock = &clock}));
  std::unique_ptr<Checkpointer> book = make();
};

}  // namespace perdure
