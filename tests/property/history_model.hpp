// A session tree kept in the most naive way: for every point of every session, a
// copy of all entries that lead there. Nothing is shared, so nothing can be shared wrongly.

#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "perdure/store/log.hpp"
#include "perdure/store/store.hpp"

namespace perdure {

/// Every entry from the first to a point. `segment` is left out (0): the model has none.
using History = std::vector<Entry>;

struct ModelSession {
  SessionId id;
  History head;
  Position next = 1;
  std::vector<History> versions;  ///< Version n at [n - 1].
  std::set<Version> forgotten;
  std::map<Position, History>
      positions;  ///< Every position that can be reached; 0 is "before all".

  /// Empty if the session has no such point.
  [[nodiscard]] std::optional<History> at(Point point) const;
};

class HistoryModel {
 public:
  void create(const SessionId& id);
  void fork(const SessionId& id, const SessionId& of, Point at);
  void commit(const SessionId& id, const Batch& batch, Timestamp now);
  /// Only the name: the model never drops an entry.
  void forget(const SessionId& id, Version version);
  void remove(const SessionId& id);

  [[nodiscard]] const std::vector<ModelSession>& sessions() const { return sessions_; }
  [[nodiscard]] const ModelSession& find(const SessionId& id) const;

 private:
  std::vector<ModelSession> sessions_;
};

/// What a fold over the history still looks at: on each channel, nothing before the last `replace`.
[[nodiscard]] History seen(const History& history);
[[nodiscard]] Position end_of(const History& history);
[[nodiscard]] Tally sum_of(const History& history);
/// What LogQuery asks for, of a line already known.
[[nodiscard]] History select(const History& history, const LogQuery& query);
[[nodiscard]] std::optional<Entry> value_of(const History& history, const std::string& channel);

}  // namespace perdure
