// What the log says of a call that the ledger has: its arguments, and what came of it.
//
// A call of the dispatcher has both in messages. One of a Checkpointer has them as bare text, in
// two entries of a channel of its own.

#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "perdure/core/error.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/store.hpp"

namespace perdure::dispatch {

inline constexpr const char* book_channel = "tool_calls";
inline constexpr const char* book_error_kind = "error";
/// Follows the arguments of a call whose operation failed before: how often.
inline constexpr const char* book_generation_kind = "generation";

struct Recorded {
  std::string text{};
  bool is_error = false;
};

/// Both are empty where it was never written, or is erased, damaged, pruned, gone with its session.
/// Fails: as Log::read.
[[nodiscard]] Result<std::optional<std::string>> recorded_args(Store& store, const Call& call);
[[nodiscard]] Result<std::optional<Recorded>> recorded_result(Store& store, const Call& call);
/// The generation of the vendor's key under which a checkpointer issued the call. It is written down,
/// because calls that failed before it may be deleted with their sessions. Empty for a call that is not
/// a checkpointer's, or whose record is gone.
/// Fails: as Log::read.
[[nodiscard]] Result<std::optional<std::int64_t>> recorded_generation(Store& store,
                                                                      const Call& call);
/// What a model is told of a call that has come to an end: its result, or that it is no longer kept.
[[nodiscard]] Result<Recorded> told_result(Store& store, const Call& call);

}  // namespace perdure::dispatch
