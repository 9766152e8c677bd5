// Every third turn is large enough for overflow pages.

#include "crash/load.hpp"

#include <fmt/format.h>

namespace perdure {
namespace {

NewEntry entry(std::string channel, Fold fold, std::string text) {
  return {.channel = std::move(channel),
          .kind = "turn",
          .fold = fold,
          .body = Body::from_text(Json(std::move(text)).text()),
          .tally = {.turns = fold == Fold::replace ? 1 : 0},
          .at = {}};
}

std::string words(const SessionId& session, Version turn) {
  const std::size_t size = turn % 3 == 0 ? 6000 : 300;
  return fmt::format("{} says {}: {}", session.text(), turn,
                     std::string(size, static_cast<char>('a' + turn % 26)));
}

Position call_of(Version turn) { return turn_entries * (turn - 1) + 1; }

void add_calls(Batch& batch, Version turn) {
  batch.calls = {Intend{.call = call_of(turn),
                        .args = call_of(turn),
                        .tool = "work",
                        .provider_id = {},
                        .effect = EffectClass::idempotent,
                        .key = sha256(batch.id.text())},
                 Dispatch{.call = call_of(turn), .deadline = {}}};
  if (turn == 1) return;
  batch.calls.emplace_back(Settle{.call = call_of(turn - 1),
                                  .state = CallState::succeeded,
                                  .result = batch.expected_head + 2,
                                  .who = {},
                                  .why = {}});
}

}  // namespace

Batch turn_batch(const SessionId& session, Version turn, Calls calls) {
  Batch batch;
  batch.id = BatchId::parse(fmt::format("{} turn {}", session.text(), turn)).value();
  batch.expected_head = turn_entries * (turn - 1);
  batch.entries = {entry("transcript", Fold::append, fmt::format("call {}", turn)),
                   entry("transcript", Fold::append, words(session, turn)),
                   entry("plan", Fold::replace, fmt::format("plan {}", turn))};
  if (calls == Calls::one) add_calls(batch, turn);
  batch.checkpoint = NewCheckpoint{.reason = "turn", .label = {}, .metadata = "{}"};
  return batch;
}

std::string find_wrong_turn(Store& store, const SessionId& session, Version turns, Calls calls) {
  const auto entries = store.log().read(session, {});
  if (!entries) return entries.error().message;
  if (entries->size() != turns * turn_entries) {
    return fmt::format("{} entries instead of {}", entries->size(), turns * turn_entries);
  }
  for (Version turn = 1; turn <= turns; ++turn) {
    const Batch batch = turn_batch(session, turn, calls);
    for (std::size_t i = 0; i < turn_entries; ++i) {
      const Entry& found = (*entries)[(turn - 1) * turn_entries + i];
      const bool right = found.position == batch.expected_head + i + 1 &&
                         found.body == batch.entries[i].body &&
                         found.condition == Condition::intact;
      if (!right) return fmt::format("entry {} of turn {} is not what was said", i + 1, turn);
    }
    const auto checkpoint = store.log().read_checkpoint(session, turn);
    if (!checkpoint || checkpoint->position != turn * turn_entries)
      return fmt::format("no version {}", turn);
    if (calls == Calls::none) continue;
    const auto call = store.ledger().read(session, call_of(turn));
    const auto expected = turn == turns ? CallState::dispatched : CallState::succeeded;
    if (!call || call->state != expected || call->attempts != 1)
      return fmt::format("the call of turn {}", turn);
  }
  return {};
}

}  // namespace perdure
