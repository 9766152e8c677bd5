// A session to be created, as perdure.create_session and the children of a commit take it.

#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "perdure/core/json.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "postgres/client/params.hpp"

namespace perdure::postgres {

/// How our functions name the kind of a point: 0 the head, 1 a version, 2 a position.
[[nodiscard]] std::int64_t kind_of(Point point);

class SessionRow {
 public:
  /// `session` must outlive this. Whoever repeats the creation uses the same nonce.
  SessionRow(const NewSession& session, std::string nonce);

  /// From the nonce on.
  void add_to(Params& params) const;
  [[nodiscard]] Json to_json() const;

 private:
  const NewSession& session_;
  std::string nonce_;
  std::optional<std::string> tags_;
};

}  // namespace perdure::postgres
