// The words are made up; their sizes are those of a short exchange with a model.

#include "turn.hpp"

#include <fmt/format.h>
#include <string>

namespace demo {

using namespace perdure;  // NOLINT(google-build-using-namespace): an example.

namespace {

constexpr Position entries_per_turn = 3;

std::string filler(Version turn, std::size_t size) {
  static constexpr std::string_view text = "The quick brown fox jumps over the lazy dog. ";
  std::string words;
  for (std::size_t i = turn % text.size(); words.size() < size; ++i) words += text[i % text.size()];
  return words;
}

NewEntry message(std::string role, std::string text) {
  const Json body(Json::Object{{"role", Json(std::move(role))}, {"text", Json(std::move(text))}});
  return {.channel = "transcript", .kind = "message", .body = Body::from_json(body)};
}

}  // namespace

SessionId session_id() { return SessionId::parse("demo").value(); }

Batch turn_batch(Version turn) {
  Batch batch{.id = BatchId::parse(fmt::format("turn-{}", turn)).value()};
  batch.expected_head = entries_per_turn * (turn - 1);
  const Json plan(Json::Object{{"next", Json(fmt::format("turn {}", turn + 1))}});
  batch.entries = {
      message("user", fmt::format("Question {}: {}", turn, filler(turn, 300))),
      message("assistant", fmt::format("Answer {}: {}", turn, filler(turn, 2000 + turn % 7 * 500))),
      {.channel = "plan", .kind = "plan", .fold = Fold::replace, .body = Body::from_json(plan)}};
  batch.entries[1].tally = {
      .turns = 1, .steps = 1, .tokens_in = 80, .tokens_out = 500, .cost_micros = 4200};
  batch.checkpoint = {.reason = "turn"};
  return batch;
}

std::size_t bytes_of(const Batch& batch) {
  std::size_t bytes = 0;
  for (const NewEntry& entry : batch.entries) bytes += entry.body.bytes().size();
  return bytes;
}

}  // namespace demo
