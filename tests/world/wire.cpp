// The words of the protocol, and lenient readers: whoever needs a member says so itself.

#include "world/wire.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "perdure/core/json.hpp"

namespace perdure::world {
namespace {

Json array_of(const std::vector<std::string>& texts) {
  return Json::Array(texts.begin(), texts.end());
}

std::vector<std::string> texts_of(const Json& object, std::string_view member) {
  std::vector<std::string> texts;
  const Json* const found = object.find(member);
  const Json::Array* const array = found == nullptr ? nullptr : found->as_array();
  if (array == nullptr) return texts;
  for (const Json& element : *array) {
    if (const std::string* const text = element.as_string()) texts.push_back(*text);
  }
  return texts;
}

}  // namespace

std::string_view to_string(Fate fate) {
  switch (fate) {
    case Fate::none:
      return "none";
    case Fate::lose_request:
      return "lose_request";
    case Fate::lose_answer:
      return "lose_answer";
    case Fate::late:
      return "late";
    case Fate::twice:
      return "twice";
    case Fate::hang:
      return "hang";
    case Fate::deny:
      return "deny";
  }
  return "";
}

std::optional<Fate> fate_from(std::string_view text) {
  for (const Fate fate : all_fates) {
    if (to_string(fate) == text) return fate;
  }
  return std::nullopt;
}

Json to_json(const Tally& tally) {
  return Json::Object{{"op", tally.op},
                      {"requests", array_of(tally.requests)},
                      {"effects", array_of(tally.effects)}};
}

Tally tally_from(const Json& json) {
  return {.op = text_of(json, "op"),
          .requests = texts_of(json, "requests"),
          .effects = texts_of(json, "effects")};
}

std::string text_of(const Json& object, std::string_view member) {
  const Json* const found = object.find(member);
  const std::string* const text = found == nullptr ? nullptr : found->as_string();
  return text == nullptr ? std::string() : *text;
}

std::int64_t number_of(const Json& object, std::string_view member, std::int64_t absent) {
  const Json* const found = object.find(member);
  return found == nullptr ? absent : found->as_int64().value_or(absent);
}

bool flag_of(const Json& object, std::string_view member) {
  const Json* const found = object.find(member);
  return found != nullptr && found->as_bool().value_or(false);
}

}  // namespace perdure::world
