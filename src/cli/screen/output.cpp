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
  is_begun_ = false;
}

void Output::begin_printing() {
  if (std::exchange(is_begun_, true)) return;
  screen_.bytes("{\"schema\":");
  write(Json(schema_), ",\"items\":[");
}

// A member that an item may have and this one has not is left out.
Json Output::chosen_of(Json item) const {
  if (fields_.empty()) return item;
  Json::Object chosen;
  for (const std::string& field : fields_) {
    if (const Json* member = item.find(field)) chosen.emplace_back(field, *member);
  }
  return chosen;
}

void Output::item(Json whole) {
  if (form_ == Form::people) return;
  Json item = chosen_of(std::move(whole));
  if (form_ == Form::jsonl) {
    Json::Object line = {{"schema", schema_}};
    for (Json::Member& member : *item.as_object()) line.push_back(std::move(member));
    write(Json(std::move(line)), "\n");
  } else if (form_ == Form::json) {
    const bool is_first = !is_begun_;
    begin_printing();
    screen_.bytes(is_first ? "\n" : ",\n");
    write(item, "");
  }
}

void Output::end_list(const Json::Object& rest) {
  if (form_ != Form::json) return;
  begin_printing();
  is_begun_ = false;
  screen_.bytes("]");
  for (const auto& [name, value] : rest) {
    screen_.bytes(",");
    write(Json(name), ":");
    write(value, "");
  }
  screen_.bytes("}\n");
}

void Output::close_list() {
  if (is_begun_) end_list();
}

void Output::document(std::string_view schema, Json::Object members) {
  if (form_ == Form::people) return;
  members.insert(members.begin(), {"schema", Json(schema)});
  write(Json(std::move(members)), "\n");
}

}  // namespace perdure::cli
