// One spelling, wherever a call is told of.

#include "live/call_words.hpp"

#include <fmt/format.h>
#include <string>
#include <string_view>

#include "desk.hpp"
#include "perdure/store/ledger.hpp"

namespace perdure::cli {

std::string shown_call(const Desk& desk, const Call& call) {
  return fmt::format("{}:{}", desk.short_id(call.session.text()), call.position);
}

std::string settle_command(std::string_view call) {
  return fmt::format("perdure resolve {} --as succeeded|failed|retry|abandoned --reason \"…\"",
                     call);
}

std::string allow_command(std::string_view tool, std::string_view call) {
  if (asks_people(tool)) return fmt::format("perdure answer {} \"…\"", call);
  return fmt::format("perdure approve {}  (or perdure deny)", call);
}

bool asks_people(std::string_view tool) { return tool == "ask_user"; }

}  // namespace perdure::cli
