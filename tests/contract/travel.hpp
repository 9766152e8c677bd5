// Facts carried from one store to another by hand.

#pragma once

#include <optional>
#include <variant>

#include "perdure/store/store.hpp"

namespace perdure {

struct Voyage {
  Passage departing{};
  Passage arriving{};
};

[[nodiscard]] inline Passage departing(const Destination& to, const Departure& departure) {
  return {.side = Side::departing, .peer = to.incarnation, .ticket = departure.open};
}

[[nodiscard]] inline Passage arriving(Store& from, const Departure& departure) {
  return {.side = Side::arriving, .peer = from.info().incarnation, .ticket = departure.open};
}

/// From where the target has got to until the end.
[[nodiscard]] inline Result<void> take_facts_only(Store& from, Store& to, const Voyage& voyage) {
  auto arrival = to.transfer().find_arrival(voyage.arriving.peer);
  if (!arrival) return forward(arrival);
  FactCursor next = arrival->next;
  while (!next.is_end()) {
    auto slice = from.transfer().read(voyage.departing, next);
    if (!slice) return forward(slice);
    if (auto taken = to.transfer().take(voyage.arriving, *slice); !taken) return taken;
    next = slice->next;
  }
  return {};
}

/// With the blobs of entries.
[[nodiscard]] inline Result<void> travel(Store& from, Store& to, const Voyage& voyage) {
  FactCursor next;
  while (!next.is_end()) {
    auto slice = from.transfer().read(voyage.departing, next);
    if (!slice) return forward(slice);
    for (const Fact& fact : slice->facts) {
      const auto* entry = std::get_if<Entry>(&fact);
      const auto ref = entry == nullptr ? std::nullopt : entry->body.blob();
      if (!ref) continue;
      auto put = to.blobs().put(from.blobs().get(*ref).value());
      if (!put) return forward(put);
    }
    next = slice->next;
  }
  return take_facts_only(from, to, voyage);
}

}  // namespace perdure
