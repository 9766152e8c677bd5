// What a verb prints, in the form that was asked for: a screen for people, one JSON document, or one
// JSON object a line. Items go out as they come: a list of any length takes no memory here.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "perdure/core/json.hpp"
#include "screen/screen.hpp"

namespace perdure::cli {

enum class Form : std::uint8_t { people, json, jsonl };

class Output {
 public:
  /// `fields`: the members that items are printed with; empty: all.
  Output(Screen& screen, Form form, std::vector<std::string> fields = {})
      : screen_(screen), form_(form), fields_(std::move(fields)) {}

  [[nodiscard]] bool is_json() const { return form_ != Form::people; }

  /// A list: `{"schema": …, "items": […], …}`, or a line for each item. Printed from its first item
  /// on, or from its end.
  void begin_list(std::string_view schema);
  void item(Json item);
  /// `rest`: further members of the document; not for lines.
  void end_list(const Json::Object& rest = {});

  /// Closes a list that something failed in, so that what was printed of it is JSON.
  void close_list();

  /// One thing.
  void document(std::string_view schema, Json::Object members);

 private:
  [[nodiscard]] Json chosen_of(Json item) const;
  void write(const Json& value, std::string_view after);
  /// Before each item, and before the end of a list without one.
  void begin_printing();

  Screen& screen_;
  Form form_;
  std::vector<std::string> fields_;
  std::string schema_;
  bool is_begun_ = false;  ///< Something of the list is printed.
};

}  // namespace perdure::cli
