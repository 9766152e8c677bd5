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

}  // namespace perdure::cli
