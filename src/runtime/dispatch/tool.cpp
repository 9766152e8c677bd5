// What follows from a tool's declarations, and which of them contradict each other.

#include "perdure/runtime/tool.hpp"

#include <fmt/format.h>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"

namespace perdure {
namespace {

bool only_reads(const Tool& tool) {
  return tool.side_effects && !tool.side_effects->write && !tool.side_effects->mutate;
}

// The first contradiction, in words; empty if there is none.
std::string contradiction_in(const Tool& tool) {
  if (tool.answer && (tool.run || tool.verify || tool.honours_key || tool.side_effects)) {
    return "is answered by its session, and has nothing else to run or to declare";
  }
  if (!tool.run && !tool.answer) return "has nothing to run";
  if (only_reads(tool) && !tool.side_effects->read)
    return "declares side effects, but none of them";
  if (tool.honours_key && !tool.side_effects) return "honours a key, but declares no side effects";
  if (tool.honours_key && only_reads(tool)) return "only reads, so there is no key to honour";
  if (tool.key_window && !tool.honours_key) return "has a key window, but does not honour a key";
  if (tool.verify && only_reads(tool)) return "only reads, so there is nothing to verify";
  if (tool.timeout <= Duration(0) || tool.verify_timeout <= Duration(0))
    return "has no time to run";
  if (tool.in_flight_max < Duration(0)) return "has a negative time in flight";
  if (tool.attempts_max < 1) return "may not even be tried once";
  if (!is_json(tool.input_schema)) return "has an input schema that is not JSON";
  if (!tool.business_key.empty() && !tool.business_key.starts_with('/')) {
    return "has a business key that is no JSON pointer: it begins with '/'";
  }
  return {};
}

}  // namespace

std::string_view to_string(Repeat repeat) {
  switch (repeat) {
    case Repeat::each_call:
      return "each_call";
    case Repeat::once_per_session:
      return "once_per_session";
    case Repeat::once_per_store:
      return "once_per_store";
  }
  return "";
}

std::optional<Repeat> repeat_from(std::string_view text) {
  for (const Repeat repeat :
       {Repeat::each_call, Repeat::once_per_session, Repeat::once_per_store}) {
    if (to_string(repeat) == text) return repeat;
  }
  return std::nullopt;
}

EffectClass effect_class_of(const Tool& tool) {
  if (only_reads(tool)) return EffectClass::read_only;
  if (tool.honours_key || tool.answer) return EffectClass::idempotent;
  return tool.verify ? EffectClass::verifiable : EffectClass::unsafe;
}

Result<Tools> Tools::of(std::vector<Tool> tools) {
  Tools made;
  for (Tool& tool : tools) {
    if (auto name = check_name("tool name", tool.name, name_bytes_max); !name) return forward(name);
    if (const std::string problem = contradiction_in(tool); !problem.empty()) {
      return fail(ErrorCode::invalid_argument, fmt::format("tool {} {}", tool.name, problem),
                  tool.name);
    }
    // The attempt itself does nothing; what it came to is worked out when it is recorded.
    if (tool.answer) tool.run = [](const CallContext&) { return Succeeded{}; };
    const std::string name = tool.name;
    if (!made.by_name_.emplace(name, std::move(tool)).second) {
      return fail(ErrorCode::invalid_argument, fmt::format("there are two tools named {}", name),
                  name);
    }
  }
  return made;
}

const Tool* Tools::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &found->second;
}

}  // namespace perdure
