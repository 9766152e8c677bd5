// The order and the names of the columns are those of sql/sessions.sql and sql/commit.sql.

#include "postgres/client/session_row.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "perdure/core/json.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "postgres/client/params.hpp"
#include "postgres/client/values.hpp"
#include "rules/stored_rows.hpp"

namespace perdure::postgres {
namespace {

std::string_view lineage_word(Lineage lineage) {
  return lineage == Lineage::child ? "child" : "fork";
}

}  // namespace

std::int64_t kind_of(Point point) {
  switch (point.kind()) {
    case Point::Kind::head:
      return 0;
    case Point::Kind::version:
      return 1;
    case Point::Kind::position:
      break;
  }
  return 2;
}

SessionRow::SessionRow(const NewSession& session, std::string nonce)
    : session_(session), nonce_(std::move(nonce)) {
  if (session.annotation.tags) tags_ = rules::tags_text(*session.annotation.tags);
}

void SessionRow::add_to(Params& params) const {
  const Annotation& annotation = session_.annotation;
  params.add(nonce_).add(session_.id.text()).add(to_string(session_.status));
  params.add(session_.wait_reason).add(session_.wake_at);
  params.add(annotation.title).add(annotation.opening).add(tags_).add(annotation.metadata);
  if (!session_.origin) {
    params.add_null(Type::text).add_null(Type::bigint).add_null(Type::bigint).add_null(Type::text);
    return;
  }
  const NewSession::Origin& origin = *session_.origin;
  params.add(origin.session.text()).add(kind_of(origin.at)).add(sendable(origin.at.number()));
  params.add(lineage_word(origin.lineage));
}

Json SessionRow::to_json() const {
  const Annotation& annotation = session_.annotation;
  Json::Object object{{"nonce", nonce_},
                      {"id", session_.id.text()},
                      {"status", std::string(to_string(session_.status))},
                      {"wait_reason", session_.wait_reason}};
  const auto add = [&](const char* name, const std::optional<std::string>& text) {
    if (text) object.emplace_back(name, *text);
  };
  if (session_.wake_at)
    object.emplace_back("wake_at", session_.wake_at->time_since_epoch().count());
  add("title", annotation.title);
  add("opening", annotation.opening);
  add("tags", tags_);
  add("metadata", annotation.metadata);
  if (session_.origin) {
    const NewSession::Origin& origin = *session_.origin;
    object.emplace_back("origin", origin.session.text());
    object.emplace_back("origin_kind", kind_of(origin.at));
    object.emplace_back("origin_number", sendable(origin.at.number()));
    object.emplace_back("lineage", std::string(lineage_word(origin.lineage)));
  }
  return Json(std::move(object));
}

}  // namespace perdure::postgres
