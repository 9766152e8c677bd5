// A schema that leads back to itself for the same value would be asked for ever. One that leads
// back for a part of the value ends, because values end.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <vector>

#include "perdure/core/error.hpp"
#include "tools/schema/compiler.hpp"
#include "tools/schema/node.hpp"

namespace perdure::schema {
namespace {

// Each is a few frames of the evaluator, at each depth of a value.
constexpr std::size_t in_place_depth_max = 64;

std::vector<NodeId> in_place_edges(const Node& node) {
  std::vector<NodeId> edges;
  for (const auto* list : {&node.all_of, &node.any_of, &node.one_of}) {
    edges.insert(edges.end(), list->begin(), list->end());
  }
  for (const auto& single :
       {node.reference, node.negated, node.condition, node.then, node.otherwise}) {
    if (single) edges.push_back(*single);
  }
  for (const auto& [name, schema] : node.dependent) edges.push_back(schema);
  return edges;
}

// Walks the edges depth first, by a list of its own, and measures the longest way from each node.
class Walk {
 public:
  explicit Walk(const std::vector<Node>& nodes)
      : nodes_(nodes), marks_(nodes.size(), Mark::unseen), depths_(nodes.size(), 1) {}

  /// A node on a cycle; nothing if there is none.
  std::optional<NodeId> find_cycle() {
    for (NodeId start = 0; start < nodes_.size(); ++start) {
      if (marks_[start] == Mark::unseen) enter(start);
      while (!way_.empty()) {
        if (const auto cycle = step()) return cycle;
      }
    }
    return std::nullopt;
  }
  [[nodiscard]] std::size_t depth(NodeId id) const { return depths_[id]; }

 private:
  enum class Mark : std::uint8_t { unseen, under_way, done };
  struct Visit {
    NodeId id;
    std::vector<NodeId> edges;
  };

  void enter(NodeId id) {
    marks_[id] = Mark::under_way;
    way_.push_back({.id = id, .edges = in_place_edges(nodes_[id])});
  }
  std::optional<NodeId> step() {
    if (way_.back().edges.empty()) {
      leave();
      return std::nullopt;
    }
    const NodeId next = way_.back().edges.back();
    way_.back().edges.pop_back();
    if (marks_[next] == Mark::under_way) return next;
    if (marks_[next] == Mark::unseen) enter(next);
    return std::nullopt;
  }
  void leave() {
    const NodeId id = way_.back().id;
    for (const NodeId next : in_place_edges(nodes_[id])) {
      depths_[id] = std::max(depths_[id], depths_[next] + 1);
    }
    marks_[id] = Mark::done;
    way_.pop_back();
  }

  const std::vector<Node>& nodes_;
  std::vector<Mark> marks_;
  std::vector<std::size_t> depths_;
  std::vector<Visit> way_{};
};

}  // namespace

Result<void> check_ends(const std::vector<Node>& nodes) {
  Walk walk(nodes);
  if (const auto cycle = walk.find_cycle()) {
    const std::string& place = nodes[*cycle].place;
    return fail(ErrorCode::invalid_argument,
                fmt::format("the JSON Schema at {} refers to itself without going deeper into the "
                            "value: it would never be done",
                            place.empty() ? "its root" : place));
  }
  for (NodeId id = 0; id < nodes.size(); ++id) {
    if (walk.depth(id) <= in_place_depth_max) continue;
    return fail(ErrorCode::unsupported,
                fmt::format("the JSON Schema at {} chains more than {} schemas for one value",
                            nodes[id].place, in_place_depth_max));
  }
  return {};
}

}  // namespace perdure::schema
