// Both stores hand facts over in the same order. Numbers of sessions and segments differ: which
// is which is learned where a fact first names one, and must hold for all that follow.

#include "copy/comparison.hpp"

#include <cstdint>
#include <expected>
#include <fmt/format.h>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "copy/fact_stream.hpp"
#include "perdure/core/error.hpp"
#include "perdure/store/bundle.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/store.hpp"
#include "store/api/transfer.hpp"

namespace perdure::copy {

namespace {

std::unexpected<Error> differs(std::string_view what) {
  return fail(ErrorCode::corrupted,
              fmt::format("the target does not hold what the source gave it: {}", what));
}

template <class Number>
Number mapped(const std::map<Number, Number>& numbers, Number of_source) {
  const auto found = numbers.find(of_source);
  return found == numbers.end() ? 0 : found->second;
}

std::string_view name_of(const Fact& fact) {
  static constexpr std::string_view names[] = {
      "a session",    "a segment", "what was pruned", "an entry", "a receipt",
      "a checkpoint", "a call",    "a message",       "a claim",  "a resource"};
  static_assert(std::size(names) == std::variant_size_v<Fact>);
  return names[fact.index()];
}

}  // namespace

/// A fact of the source under the target's numbers.
class Comparison::Translation {
 public:
  explicit Translation(const Comparison& known) : known_(known) {}

  void operator()(SessionFact& fact) const {
    fact.owner = owner(fact.owner);
    // Compared when the segments are known.
    if (fact.row) fact.row->segment = 0;
  }
  void operator()(SegmentFact& fact) const {
    fact.segment = segment(fact.segment);
    fact.owner = owner(fact.owner);
    if (fact.parent) fact.parent = segment(*fact.parent);
  }
  void operator()(PrunedFact& fact) const { fact.segment = segment(fact.segment); }
  void operator()(Entry& entry) const { entry.segment = segment(entry.segment); }
  void operator()(MessageFact& fact) const { fact.owner = owner(fact.owner); }
  void operator()(ClaimFact& /*fact*/) const {}
  void operator()(ResourceFact& /*fact*/) const {}
  template <class OtherFact>
  void operator()(OtherFact& fact) const {
    fact.owner = owner(fact.owner);
    fact.segment = segment(fact.segment);
  }

 private:
  [[nodiscard]] OwnerNumber owner(OwnerNumber number) const {
    return mapped(known_.owners_, number);
  }
  [[nodiscard]] SegmentId segment(SegmentId number) const {
    return mapped(known_.segments_, number);
  }

  const Comparison& known_;
};

Comparison::Comparison(FactStream source, Store& to, const Arrival& arrival)
    : to_(to),
      source_(std::move(source)),
      target_(to.transfer(), FactSource{.owners = {}, .arrival = arrival}),
      chains_(FactStream(to.transfer(), FactSource{.owners = {}, .arrival = arrival},
                         {.kind = FactKind::receipt, .group = 0, .number = 0, .name = {}})) {}

Result<bool> Comparison::run(const std::function<bool(std::uint64_t)>& go_on) {
  std::uint64_t seen = 0;
  while (true) {
    if (source_.is_slice_done() && !go_on(seen)) return false;
    auto fact = source_.next();
    if (!fact) return forward(fact);
    if (*fact == nullptr) break;
    ++seen;
    if (auto same = compare(**fact); !same) return forward(same);
  }
  auto rest = target_.next();
  if (!rest) return forward(rest);
  if (*rest != nullptr) return differs("it holds more");
  if (auto active = compare_active(); !active) return forward(active);
  if (auto checked = chains_.finish(); !checked) return forward(checked);
  report_.damaged = chains_.damaged().size();
  return true;
}

Result<void> Comparison::compare(Fact of_source) {
  if (const auto* claim = std::get_if<ClaimFact>(&of_source)) return compare_claim(*claim);
  if (std::holds_alternative<ResourceFact>(of_source)) return {};
  auto next = target_.next();
  if (!next) return forward(next);
  if (*next == nullptr || (*next)->index() != of_source.index()) {
    return differs(fmt::format("{} is missing", name_of(of_source)));
  }
  Fact of_target = **next;
  if (const auto* session = std::get_if<SessionFact>(&of_source)) {
    auto& other = std::get<SessionFact>(of_target);
    owners_.emplace(session->owner, other.owner);
    if (session->row && other.row) {
      active_.emplace_back(session->row->segment, std::exchange(other.row->segment, 0));
    }
  }
  if (const auto* segment = std::get_if<SegmentFact>(&of_source)) {
    segments_.emplace(segment->segment, std::get<SegmentFact>(of_target).segment);
  }
  std::visit(Translation(*this), of_source);
  if (of_source != of_target) return differs(fmt::format("{} is another one", name_of(of_source)));
  return note(of_target);
}

Result<void> Comparison::compare_claim(const ClaimFact& claim) {
  ++report_.claims;
  if (!claim.call.key) return {};
  auto holder = to_.ledger().find_holder(*claim.call.key);
  if (!holder) return forward(holder);
  return *holder ? Result<void>() : differs("a key that a removed session holds is free");
}

Result<void> Comparison::compare_active() {
  for (const auto& [of_source, of_target] : active_) {
    if (of_target == 0 || mapped(segments_, of_source) != of_target) {
      return differs("a session goes on in another segment");
    }
  }
  return {};
}

Result<void> Comparison::note(const Fact& of_target) {
  if (const auto* session = std::get_if<SessionFact>(&of_target)) {
    if (session->row) ++report_.sessions;
    chains_.add(*session);
  }
  if (const auto* segment = std::get_if<SegmentFact>(&of_target)) chains_.add(*segment);
  if (std::holds_alternative<ReceiptFact>(of_target)) ++report_.commits;
  if (std::holds_alternative<CallFact>(of_target)) ++report_.calls;
  if (std::holds_alternative<MessageFact>(of_target)) ++report_.messages;
  const auto* entry = std::get_if<Entry>(&of_target);
  if (entry == nullptr) return {};
  ++report_.entries;
  return chains_.add(*entry);
}

}  // namespace perdure::copy
