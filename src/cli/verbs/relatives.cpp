// The subject of such a refusal is the session that was left out.

#include "verbs/relatives.hpp"

#include <expected>
#include <utility>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"

namespace perdure::cli {

std::unexpected<Error> with_hint_of_relatives(Error error, bool is_asked_for) {
  const bool lacks_one = error.code == ErrorCode::conflict && SessionId::parse(error.subject);
  if (lacks_one && !is_asked_for) error.message += ". --with-relatives takes them along";
  return std::unexpected(std::move(error));
}

}  // namespace perdure::cli
