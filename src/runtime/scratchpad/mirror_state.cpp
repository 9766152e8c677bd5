// `{"store", "session", "left": {key: [digest or null, …]}}`.

#include "scratchpad/mirror_state.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "perdure/core/json.hpp"
#include "perdure/core/sha256.hpp"

namespace perdure::scratch {
namespace {

Json to_value(const Content& content) { return content ? Json(to_hex(*content)) : Json(); }

std::optional<Content> content_from(const Json& value) {
  if (value.is_null()) return Content{};
  const std::string* const hex = value.as_string();
  const auto digest = hex != nullptr ? digest_from_hex(*hex) : std::nullopt;
  if (!digest) return std::nullopt;
  return Content{digest};
}

std::optional<std::vector<Content>> contents_from(const Json& value) {
  const Json::Array* const array = value.as_array();
  if (array == nullptr) return std::nullopt;
  std::vector<Content> contents;
  for (const Json& element : *array) {
    const auto content = content_from(element);
    if (!content) return std::nullopt;
    contents.push_back(*content);
  }
  return contents;
}

}  // namespace

std::string to_json(const MirrorState& state) {
  Json::Object left;
  for (const auto& [key, contents] : state.left) {
    Json::Array array;
    for (const Content& content : contents) array.push_back(to_value(content));
    left.emplace_back(key, std::move(array));
  }
  return Json(Json::Object{
                  {"store", state.store}, {"session", state.session}, {"left", std::move(left)}})
      .text();
}

std::optional<MirrorState> mirror_state_from_json(std::string_view text) {
  const auto value = parse_json(text);
  if (!value) return std::nullopt;
  const Json* const store = value->find("store");
  const Json* const session = value->find("session");
  const Json* const left = value->find("left");
  if (store == nullptr || session == nullptr || left == nullptr) return std::nullopt;
  if (!store->is_string() || !session->is_string() || !left->is_object()) return std::nullopt;
  MirrorState state{.store = *store->as_string(), .session = *session->as_string()};
  for (const auto& [key, member] : *left->as_object()) {
    auto contents = contents_from(member);
    if (!contents) return std::nullopt;
    state.left.emplace(key, *std::move(contents));
  }
  return state;
}

}  // namespace perdure::scratch
