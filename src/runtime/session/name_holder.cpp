// Looked up after the refusal: the holder may be another one by now, and is then the one that counts.

#include "runtime/api/name_holder.hpp"

#include <array>
#include <expected>
#include <fmt/format.h>
#include <string>
#include <unistd.h>
#include <utility>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/ownership.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"

namespace perdure {

std::string machine_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

std::unexpected<Error> name_holder(Store& store, const SessionId& session, Error error) {
  const auto row = store.sessions().read(session);
  if (row && row->holder) {
    const Holder& holder = *row->holder;
    const bool is_here = holder.pid == ::getpid() && holder.host == machine_name();
    error.message =
        fmt::format("session {} is held by {}worker {} on {}, process {}, since {}", session.text(),
                    is_here ? "this process: " : "", holder.worker.text(), holder.host, holder.pid,
                    to_iso8601(holder.since));
  }
  return std::unexpected(std::move(error));
}

}  // namespace perdure
