// Writes whose answer may be lost.
//
// A batch has an id, so whoever repeats it gets the receipt of the first time: it is never made twice.

#pragma once

#include "perdure/core/error.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"

namespace perdure {

/// Repeats `write` while it fails with `commit_unknown`. A full disk or a lost connection may pass; what
/// four tries did not settle is left to the caller.
template <class Write>
[[nodiscard]] auto surely(Write write) -> decltype(write()) {
  constexpr int tries_max = 4;
  for (int tries = 1;; ++tries) {
    auto done = write();
    const bool is_unknown = !done && done.error().code == ErrorCode::commit_unknown;
    if (!is_unknown || tries == tries_max) return done;
  }
}

/// Fails: as Store::create.
[[nodiscard]] inline Result<Created> create_surely(Store& store, const NewSession& session,
                                                   const WorkerId& worker, const Batch& first) {
  return surely([&] { return store.create(session, worker, first); });
}

/// Fails: as Store::commit.
[[nodiscard]] inline Result<Receipt> commit_surely(Store& store, const Lease& lease,
                                                   const Batch& batch) {
  return surely([&] { return store.commit(lease, batch); });
}

}  // namespace perdure
