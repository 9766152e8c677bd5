// Entries are looked up one by one: a call is read this way only when another one has its key.

#include "runtime/api/recorded.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/calls.hpp"
#include "perdure/runtime/conversation.hpp"
#include "perdure/store/blobs.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/store.hpp"
#include "runtime/api/records.hpp"

namespace perdure::dispatch {
namespace {

// Empty: erased, damaged, pruned, or gone with its session.
Result<std::optional<Entry>> find_entry(Store& store, const SessionId& session, Position place) {
  if (place == 0) return std::nullopt;
  auto found = store.log().read(
      session, {.as_of = Point::position(place), .from = place, .to = place, .limit = 1});
  if (!found && found.error().code == ErrorCode::not_found) return std::nullopt;
  if (!found) return forward(found);
  if (found->empty()) return std::nullopt;
  Entry entry = std::move(found->front());
  if (auto loaded = load_blob(store.blobs(), entry); !loaded) return forward(loaded);
  if (entry.condition != Condition::intact) return std::nullopt;
  return entry;
}

std::optional<Recorded> result_in(const Entry& entry, const Call& call) {
  if (entry.channel == book_channel)
    return Recorded{entry.body.bytes(), entry.kind == book_error_kind};
  auto message = message_from_json(entry.body.bytes());
  if (!message) return std::nullopt;
  for (Block& block : message->blocks) {
    auto* result = std::get_if<ToolResultBlock>(&block);
    if (result == nullptr) continue;
    const auto outcome = outcome_of(*result);
    if (outcome && outcome->call == call.position) {
      return Recorded{std::move(result->content), result->is_error};
    }
  }
  return std::nullopt;
}

// Which block it was, the intent says: a provider may give all calls of a message one id. Where it
// cannot be read, the id has to do.
const ToolCallBlock* find_asked(const Message& message, const Call& call,
                                const std::optional<Intent>& intent) {
  for (std::size_t i = 0; i < message.blocks.size(); ++i) {
    const auto* block = std::get_if<ToolCallBlock>(&message.blocks[i]);
    const bool is_it = intent ? i == intent->block : block && block->id == call.provider_id;
    if (is_it) return block;
  }
  return nullptr;
}

std::optional<Intent> intent_in(const std::optional<Entry>& entry) {
  if (!entry) return std::nullopt;
  auto intent = intent_from_json(entry->body.bytes());
  return intent ? std::optional(*std::move(intent)) : std::nullopt;
}

}  // namespace

Result<std::optional<std::string>> recorded_args(Store& store, const Call& call) {
  auto entry = find_entry(store, call.session, call.args);
  if (!entry) return forward(entry);
  if (!*entry) return std::nullopt;
  if ((*entry)->channel == book_channel) return (*entry)->body.bytes();
  auto intended = find_entry(store, call.session, call.position);
  if (!intended) return forward(intended);
  auto intent = intent_in(*intended);
  if (intent && intent->args) return std::move(intent->args);
  const auto message = message_from_json((*entry)->body.bytes());
  const ToolCallBlock* block = message ? find_asked(*message, call, intent) : nullptr;
  return block != nullptr ? std::optional(block->args) : std::nullopt;
}

Result<std::optional<Recorded>> recorded_result(Store& store, const Call& call) {
  auto entry = find_entry(store, call.session, call.result.value_or(0));
  if (!entry) return forward(entry);
  return *entry ? result_in(**entry, call) : std::nullopt;
}

Result<std::optional<std::int64_t>> recorded_generation(Store& store, const Call& call) {
  auto issued = find_entry(store, call.session, call.position);
  if (!issued) return forward(issued);
  if (!*issued || (*issued)->channel != book_channel) return std::nullopt;
  auto next = find_entry(store, call.session, call.position + 1);
  if (!next) return forward(next);
  const bool is_there =
      *next && (*next)->channel == book_channel && (*next)->kind == book_generation_kind;
  const auto number = is_there ? parse_json((*next)->body.bytes()) : Result<Json>(Json(0));
  return number ? number->as_int64() : std::nullopt;
}

Result<Recorded> told_result(Store& store, const Call& call) {
  auto result = recorded_result(store, call);
  if (!result) return forward(result);
  if (*result) return **std::move(result);
  return Recorded{.text = "This call was made; its result is no longer kept."};
}

}  // namespace perdure::dispatch
