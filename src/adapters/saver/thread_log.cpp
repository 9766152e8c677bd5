// Reading a thread's checkpoints and states.

#include "saver/thread_log.hpp"

#include <algorithm>
#include <cstddef>
#include <expected>
#include <fmt/format.h>
#include <iterator>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/api/raw_json.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/store.hpp"
#include "saver/delta.hpp"

namespace perdure::saver {
namespace {

// The store's own rows name people's reasons; this one tells ours from a session's that
// is no thread.
constexpr const char* put_reason = "put";

// Few enough that a load works in memory it has used before.
constexpr std::size_t changes_at_once = 32;

std::optional<Row> row_of(const Checkpoint& checkpoint) {
  if (checkpoint.reason != put_reason) return std::nullopt;
  const auto members = split_object(checkpoint.metadata);
  if (!members) return std::nullopt;
  Row row{.id = checkpoint.label, .version = checkpoint.version, .at = checkpoint.at};
  for (const RawMember& member : *members) {
    if (member.key == "metadata")
      row.metadata = RawJson::from_text(std::string(member.value)).value();
    if (member.key == "parent") {
      const Json parent = parse_json(member.value).value();
      if (parent.as_string() != nullptr) row.parent = *parent.as_string();
    }
  }
  return row;
}

std::unexpected<Error> no_state(const SessionId& session, Version version, std::string_view why) {
  return fail(ErrorCode::corrupted,
              fmt::format("the state of thread {} as of version {} cannot be read: {}",
                          session.text(), version, why));
}

}  // namespace

NewCheckpoint to_checkpoint(const Row& row) {
  ObjectWriter writer;
  if (row.parent) writer.add("parent", *row.parent);
  writer.add_raw("metadata", row.metadata.text());
  return {.reason = put_reason, .label = row.id, .metadata = writer.finish()};
}

Result<std::vector<Row>> ThreadLog::query(const CheckpointQuery& query) {
  std::vector<Row> rows;
  auto found = store_.log().checkpoints(session_, query);
  if (!found && found.error().code == ErrorCode::not_found) return rows;
  if (!found) return forward(found);
  for (const Checkpoint& checkpoint : *found) {
    if (auto row = row_of(checkpoint)) rows.push_back(*std::move(row));
  }
  return rows;
}

Result<std::optional<Row>> ThreadLog::latest() {
  auto found = query({.limit = 1});
  if (!found) return forward(found);
  return found->empty() ? std::nullopt : std::optional(std::move(found->front()));
}

Result<std::optional<Row>> ThreadLog::find(const std::string& id) {
  // To the store, no label means any.
  if (id.empty()) return std::nullopt;
  auto found = query({.label = id, .limit = 1});
  if (!found) return forward(found);
  return found->empty() ? std::nullopt : std::optional(std::move(found->front()));
}

Result<std::vector<Row>> ThreadLog::rows(std::optional<Version> before, std::size_t limit) {
  return query({.before = before, .limit = std::min(limit, limit_max)});
}

Result<LoadedState> ThreadLog::load(Version version) {
  const Point as_of = Point::version(version);
  auto whole = store_.log().find_value(session_, "state", as_of);
  if (!whole) return forward(whole);
  if (!*whole) return no_state(session_, version, "no whole state is before it");
  if ((*whole)->condition != Condition::intact) {
    return no_state(session_, version, "the whole state before it is damaged or erased");
  }
  LoadedState loaded;
  std::optional<Folding> folding;
  LogQuery query{.as_of = as_of,
                 .from = (*whole)->position + 1,
                 .channel = "state",
                 .order = Order::newest_first,
                 .limit = changes_at_once};
  for (bool more = true; more;) {
    auto changes = store_.log().read(session_, query);
    if (!changes) return forward(changes);
    for (const Entry& entry : *changes) {
      if (entry.condition != Condition::intact) {
        return no_state(session_, version, "a change before it is damaged or erased");
      }
      auto delta = delta_from_json(entry.body.bytes());
      if (!delta) return forward(delta);
      if (!folding) folding.emplace(delta->size);
      loaded.cost += entry.body.bytes().size() + change_cost;
      if (auto gone = folding->go_back(*delta); !gone) return forward(gone);
      query.to = entry.position - 1;
    }
    more = changes->size() == changes_at_once;
  }
  auto text = folding ? folding->finish((*whole)->body.bytes()) : (*whole)->body.bytes();
  if (!text) return forward(text);
  loaded.text = *std::move(text);
  return loaded;
}

std::optional<Known> Recent::find(const std::string& thread) {
  const std::lock_guard lock(mutex_);
  const auto place = places_.find(thread);
  if (place == places_.end()) return std::nullopt;
  order_.splice(order_.begin(), order_, place->second);
  return place->second->second;
}

void Recent::keep(const std::string& thread, Known known) {
  const std::lock_guard lock(mutex_);
  if (const auto place = places_.find(thread); place != places_.end()) drop(place->second);
  bytes_ += known.text->size();
  order_.emplace_front(thread, std::move(known));
  places_[thread] = order_.begin();
  while (bytes_ > bytes_max_) drop(std::prev(order_.end()));
}

void Recent::forget(const std::string& thread) {
  const std::lock_guard lock(mutex_);
  if (const auto place = places_.find(thread); place != places_.end()) drop(place->second);
}

void Recent::drop(Order::iterator place) {
  bytes_ -= place->second.text->size();
  places_.erase(place->first);
  order_.erase(place);
}

}  // namespace perdure::saver
