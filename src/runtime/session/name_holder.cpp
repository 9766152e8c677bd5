// Looked up after the refusal: the holder may be another one by now, and is then the one that counts.

#include "session/name_holder.hpp"

#include <expected>
#include <fmt/format.h>
#include <utility>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/ownership.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"

namespace perdure {

std::unexpected<Error> name_holder(Store& store, const SessionId& session, Error error) {
  const auto row = store.sessions().read(session);
  if (row && row->holder) {
    const Holder& holder = *row->holder;
    error.message =
        fmt::format("session {} is held by worker {} on {}, process {}, since {}", session.text(),
                    holder.worker.text(), holder.host, holder.pid, to_iso8601(holder.since));
  }
  return std::unexpected(std::move(error));
}

}  // namespace perdure
