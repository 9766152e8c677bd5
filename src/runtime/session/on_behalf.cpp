// A list through the stack of each thread.

#include <optional>
#include <string_view>
#include <utility>

#include "perdure/core/id.hpp"
#include "perdure/runtime/calls.hpp"
#include "perdure/store/ownership.hpp"

namespace perdure {
namespace {

thread_local const OnBehalf* innermost = nullptr;

}  // namespace

OnBehalf::OnBehalf(Lease lease)
    : lease_(std::move(lease)), outer_(std::exchange(innermost, this)) {}

OnBehalf::~OnBehalf() { innermost = outer_; }

bool OnBehalf::is_of(const SessionId& session, std::string_view worker) {
  for (const OnBehalf* each = innermost; each != nullptr; each = each->outer_) {
    if (each->lease_.session == session && each->lease_.worker.text() == worker) return true;
  }
  return false;
}

std::optional<Lease> OnBehalf::current() {
  if (innermost == nullptr) return std::nullopt;
  return innermost->lease_;
}

}  // namespace perdure
