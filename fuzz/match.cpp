// Queries: whatever the metadata and the filter hold, the answer is the same both ways
// round, and a member always matches itself.

#include <string>

#include "perdure/core/json.hpp"
#include "rules/queries.hpp"
#include "target.hpp"

using namespace perdure;  // NOLINT(google-build-using-namespace): a program of its own.
using fuzz::expect;
using fuzz::Input;

namespace {

std::string object_of(const std::string& key, const Json& value) {
  return Json(Json::Object{{key, value}}).text();
}

void match_metadata(const std::string& key, const Json& one, const Json& other) {
  Checkpoint of_one;
  of_one.metadata = object_of(key, one);
  Checkpoint of_other;
  of_other.metadata = object_of(key, other);
  // As a store has it: the key may have lost bytes that no JSON text holds.
  const auto kept = parse_json(of_one.metadata);
  if (!kept) return;
  const std::string name = kept->as_object()->front().first;
  CheckpointQuery for_one;
  for_one.metadata = {{name, one}};
  CheckpointQuery for_other;
  for_other.metadata = {{name, other}};
  expect(rules::matches(for_one, of_one), "a member matches itself");
  expect(rules::matches(for_one, of_other) == rules::matches(for_other, of_one),
         "equal both ways round");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  const std::string key(input.text());
  const std::string first(input.text());
  const std::string second(input.text());

  CheckpointQuery query;
  query.metadata = {{key, second}};
  Checkpoint checkpoint;
  checkpoint.metadata = first;
  (void)rules::matches(query, checkpoint);
  const auto one = parse_json(first);
  const auto other = parse_json(second);
  if (one && other) match_metadata(key, *one, *other);

  SessionSummary session;
  session.title = first;
  SessionQuery part;
  part.contains = first.substr(first.size() / 2);
  expect(rules::matches(part, session), "a title contains its own end");
  part.contains = second;
  (void)rules::matches(part, session);
  return 0;
}
