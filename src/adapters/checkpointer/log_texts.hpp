// What a session's log tells a checkpointer, as the texts that were handed in.
//
// Not the runtime's State: there a message is taken apart, and one of a shape it does not
// know is passed over. Here it is any JSON, and comes back byte for byte.

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "perdure/adapters/checkpointer.hpp"
#include "perdure/core/error.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/store.hpp"

namespace perdure::checkpointing {

struct LogTexts {
  std::vector<std::string> messages{};
  std::optional<std::string> plan{};
  Budget budget{};
  std::optional<Origin> origin{};      ///< Empty: none was written, or it cannot be read.
  bool has_lost_origin = false;        ///< One that cannot be read was.
  std::optional<StatusNote> status{};  ///< The last change of it.
  std::vector<Position> missing{};
};

/// Takes the next entry of the line in: the same when it was just written, and at a resume.
void take_in(LogTexts& texts, const Entry& entry);

/// Fails: as Log::read.
[[nodiscard]] Result<LogTexts> read_texts(Store& store, const SessionId& session, Point as_of);

/// Fails: `invalid_argument` if a message is so deep that no list can hold it.
[[nodiscard]] Result<Checkpointer::Content> content_of(const LogTexts& texts);

/// What must be written to get from `texts` to `content`.
/// Fails: `invalid_argument`, as save_checkpoint does.
[[nodiscard]] Result<std::vector<NewEntry>> changes_to(const LogTexts& texts,
                                                       const Checkpointer::Content& content);

/// One entry for each element. Fails: `invalid_argument` if it is no list.
[[nodiscard]] Result<std::vector<NewEntry>> messages_of(const RawJson& list);

}  // namespace perdure::checkpointing
