// Tags are kept as one JSON array, so that a person with a database shell can read them.

#include "rules/stored_rows.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "perdure/core/json.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"

namespace perdure::rules {

void set_body(Entry& entry, std::int64_t codec_column, std::optional<std::string> body) {
  const bool says_erased = codec_column < 0;
  const auto codec = static_cast<Codec>(says_erased ? -1 - codec_column : codec_column);
  const bool has_body = body.has_value();
  entry.body = Body::from_stored(codec, std::move(body).value_or(""));
  if (says_erased && !has_body && entry.hash != Digest{}) {
    entry.condition = Condition::erased;
  } else if (says_erased || !has_body || sha256(entry.body.bytes()) != entry.hash) {
    entry.condition = Condition::damaged;
  }
}

std::vector<std::string> read_tags(std::string_view text) {
  std::vector<std::string> tags;
  const auto parsed = parse_json(text);
  if (!parsed || parsed->as_array() == nullptr) return tags;
  for (const Json& tag : *parsed->as_array()) {
    if (const std::string* name = tag.as_string()) tags.push_back(*name);
  }
  return tags;
}

std::string tags_text(const std::vector<std::string>& tags) {
  Json::Array array(tags.begin(), tags.end());
  return Json(std::move(array)).text();
}

std::string_view sort_column(SessionSort sort) {
  switch (sort) {
    case SessionSort::updated:
      return "updated_at";
    case SessionSort::created:
      return "created_at";
    case SessionSort::title:
      return "title";
    case SessionSort::turns:
      return "turns";
    case SessionSort::cost:
      break;
  }
  return "cost_micros";
}

}  // namespace perdure::rules
