// The naive model: copies, and loops from the beginning.

#include "property/history_model.hpp"

#include <algorithm>

namespace perdure {

std::optional<History> ModelSession::at(Point point) const {
  switch (point.kind()) {
    case Point::Kind::head:
      return head;
    case Point::Kind::version:
      if (point.number() < 1 || point.number() > versions.size()) return std::nullopt;
      if (forgotten.contains(point.number())) return std::nullopt;
      return versions[point.number() - 1];
    case Point::Kind::position:
      break;
  }
  const auto found = positions.find(point.number());
  return found == positions.end() ? std::nullopt : std::optional(found->second);
}

void HistoryModel::create(const SessionId& id) {
  ModelSession made{.id = id, .head = {}, .versions = {}, .forgotten = {}, .positions = {}};
  made.positions[0] = {};
  sessions_.push_back(made);
}

void HistoryModel::fork(const SessionId& id, const SessionId& of, Point at) {
  const History shared = find(of).at(at).value();
  create(id);
  ModelSession& made = sessions_.back();
  made.head = shared;
  made.next = end_of(shared) + 1;
  for (std::size_t i = 0; i < shared.size(); ++i) {
    made.positions[shared[i].position] =
        History(shared.begin(), shared.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  }
}

void HistoryModel::commit(const SessionId& id, const Batch& batch, Timestamp now) {
  auto& session = *std::ranges::find(sessions_, id, &ModelSession::id);
  if (batch.branch_from) session.head = session.at(*batch.branch_from).value();
  for (const NewEntry& entry : batch.entries) {
    session.head.push_back({.position = session.next,
                            .segment = 0,
                            .channel = entry.channel,
                            .kind = entry.kind,
                            .fold = entry.fold,
                            .body = entry.body,
                            .hash = sha256(entry.body.bytes()),
                            .tally = entry.tally,
                            .at = entry.at.value_or(now)});
    session.positions[session.next] = session.head;
    ++session.next;
  }
  if (batch.checkpoint) session.versions.push_back(session.head);
}

void HistoryModel::forget(const SessionId& id, Version version) {
  std::ranges::find(sessions_, id, &ModelSession::id)->forgotten.insert(version);
}

void HistoryModel::remove(const SessionId& id) {
  std::erase_if(sessions_, [&](const ModelSession& session) { return session.id == id; });
}

const ModelSession& HistoryModel::find(const SessionId& id) const {
  return *std::ranges::find(sessions_, id, &ModelSession::id);
}

History seen(const History& history) {
  History found;
  for (const Entry& entry : history) {
    const auto value = value_of(history, entry.channel);
    if (!value || entry.position >= value->position) found.push_back(entry);
  }
  return found;
}

Position end_of(const History& history) { return history.empty() ? 0 : history.back().position; }

Tally sum_of(const History& history) {
  Tally sum;
  for (const Entry& entry : history) {
    sum.turns += entry.tally.turns;
    sum.steps += entry.tally.steps;
    sum.tokens_in += entry.tally.tokens_in;
    sum.tokens_out += entry.tally.tokens_out;
    sum.cost_micros += entry.tally.cost_micros;
  }
  return sum;
}

History select(const History& history, const LogQuery& query) {
  History chosen;
  for (const Entry& entry : history) {
    const bool inside = entry.position >= query.from && entry.position <= query.to;
    if (inside && (query.channel.empty() || query.channel == entry.channel))
      chosen.push_back(entry);
  }
  if (query.order == Order::newest_first) std::ranges::reverse(chosen);
  if (chosen.size() > query.limit) chosen.resize(query.limit);
  return chosen;
}

std::optional<Entry> value_of(const History& history, const std::string& channel) {
  std::optional<Entry> last;
  for (const Entry& entry : history) {
    if (entry.channel == channel && entry.fold == Fold::replace) last = entry;
  }
  return last;
}

}  // namespace perdure
