// The list of schemas still to be compiled, and where references lead.

#include "tools/schema/compiler.hpp"

#include <cstddef>
#include <fmt/format.h>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/json_pointer.hpp"
#include "tools/schema/node.hpp"

namespace perdure::schema {
namespace {

constexpr std::size_t nodes_max = 20'000;

// One part of a pointer inside a URI fragment, without its %-escapes.
std::string unescaped(std::string_view token) {
  std::string bytes;
  for (std::size_t i = 0; i < token.size(); ++i) {
    const auto hex = [&](std::size_t at) {
      const std::string_view digits = "0123456789abcdef0123456789ABCDEF";
      const std::size_t found = at < token.size() ? digits.find(token[at]) : digits.size();
      return found < digits.size() ? static_cast<int>(found % 16) : -1;
    };
    if (token[i] == '%' && hex(i + 1) >= 0 && hex(i + 2) >= 0) {
      bytes += static_cast<char>(hex(i + 1) * 16 + hex(i + 2));
      i += 2;
    } else {
      bytes += token[i];
    }
  }
  return bytes;
}

}  // namespace

Result<std::vector<Node>> Compiler::run() {
  node_of(root_, "");
  while (!error_ && (!pending_.empty() || !references_.empty())) {
    if (!pending_.empty()) {
      compile_next();
    } else {
      resolve();
    }
  }
  if (error_) return fail(error_->code, error_->message);
  if (auto ends = check_ends(nodes_); !ends) return forward(ends);
  return std::move(nodes_);
}

NodeId Compiler::node_of(const Json& schema, const std::string& place) {
  const auto [found, is_new] = known_.try_emplace(&schema, nodes_.size());
  if (!is_new) return found->second;
  nodes_.push_back({.place = place});
  pending_.push_back({.schema = &schema, .id = found->second});
  if (nodes_.size() > nodes_max) {
    refuse(found->second, "", ErrorCode::unsupported,
           fmt::format("has more than {} parts", nodes_max));
  }
  return found->second;
}

void Compiler::compile_next() {
  const Pending next = pending_.back();
  pending_.pop_back();
  if (const auto truth = next.schema->as_bool()) {
    nodes_[next.id].is_never = !*truth;
  } else if (next.schema->is_object()) {
    compile_object(*next.schema, next.id);
  } else {
    refuse(next.id, "", ErrorCode::invalid_argument, "a schema is an object, true or false");
  }
}

// All at once: an anchor may stand after what refers to it.
void Compiler::resolve() {
  const std::vector<Reference> references = std::exchange(references_, {});
  for (const auto& [from, target] : references) {
    if (error_) return;
    std::string place;
    std::string_view local = target;
    if (!base_.empty() && local.starts_with(base_)) local.remove_prefix(base_.size());
    if (!local.empty() && !local.starts_with('#')) {
      refuse(from, "$ref", ErrorCode::unsupported,
             fmt::format("leads to \"{}\"; only places within this schema are read, such as "
                         "\"#/$defs/name\"",
                         target));
      return;
    }
    if (!local.empty()) local.remove_prefix(1);
    if (!local.empty() && !local.starts_with('/')) {
      const auto anchor = anchors_.find(local);
      if (anchor == anchors_.end()) {
        refuse(from, "$ref", ErrorCode::invalid_argument, fmt::format("there is no {}", target));
        return;
      }
      nodes_[from].reference = anchor->second;
      continue;
    }
    const Json* schema = find_target(local, place);
    if (schema == nullptr) {
      refuse(from, "$ref", ErrorCode::invalid_argument, fmt::format("there is no {}", target));
      return;
    }
    const NodeId id = node_of(*schema, place);
    nodes_[from].reference = id;
  }
}

const Json* Compiler::find_target(std::string_view target, std::string& place) const {
  const Json* at = &root_;
  while (at != nullptr && !target.empty()) {
    target.remove_prefix(1);
    const std::size_t end = target.find('/');
    const std::string part = unescaped(target.substr(0, end));
    at = find_member(*at, part);
    place += "/" + pointer_part(pointer_name(part));
    target = end == std::string_view::npos ? std::string_view() : target.substr(end);
  }
  return at;
}

void Compiler::refuse(NodeId id, const std::string& keyword, ErrorCode code,
                      const std::string& why) {
  if (error_) return;
  const std::string place = nodes_[id].place + (keyword.empty() ? "" : "/" + pointer_part(keyword));
  error_ =
      Error{code, fmt::format("the JSON Schema at {}: {}", place.empty() ? "its root" : place, why),
            place};
}

}  // namespace perdure::schema
