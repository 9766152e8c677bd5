// Every line of JSON names its schema: a line may be read alone.

#include "screen/output.hpp"

#include <string>
#include <string_view>
#include <utility>

#include "perdure/core/json.hpp"
#include "screen/text.hpp"

namespace perdure::cli {

void Output::write(const Json& value, std::string_view after) {
  screen_.bytes(json_visible(value.text()));
  screen_.bytes(after);
}

void Output::begin_list(std::string_view schema) {
  schema_ = schema;
  is_first_ = true;
  if (form_ != Form::json) return;
  screen_.bytes("{\"schema\":");
  write(Json(schema), ",\"items\":[");
}

void Output::item(Json item) {
  if (form_ == Form::jsonl) {
    Json::Object line = {{"schema", schema_}};
    for (Json::Member& member : *item.as_object()) line.push_back(std::move(member));
    write(Json(std::move(line)), "\n");
  } else if (form_ == Form::json) {
    screen_.bytes(std::exchange(is_first_, false) ? "\n" : ",\n");
    write(item, "");
  }
}

void Output::end_list(const Json::Object& rest) {
  if (form_ != Form::json) return;
  screen_.bytes("]");
  for (const auto& [name, value] : rest) {
    screen_.bytes(",");
    write(Json(name), ":");
    write(value, "");
  }
  screen_.bytes("}\n");
}

void Output::document(std::string_view schema, Json::Object members) {
  if (form_ == Form::people) return;
  members.insert(members.begin(), {"schema", Json(schema)});
  write(Json(std::move(members)), "\n");
}

}  // namespace perdure::cli
