// Plain replacement of text: nothing but names of the store may be written `perdure.` in SQL.

#include "postgres/client/statements.hpp"

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace perdure::postgres {
namespace {

constexpr std::string_view written_schema = "perdure.";

}  // namespace

std::string quoted_name(std::string_view identifier) {
  std::string text = "\"";
  for (const char letter : identifier) {
    if (letter == '"') text += '"';
    text += letter;
  }
  text += '"';
  return text;
}

std::string in_schema(std::string_view sql, std::string_view schema) {
  std::string text;
  text.reserve(sql.size() + 64);
  for (;;) {
    const std::size_t at = sql.find(written_schema);
    text += sql.substr(0, at);
    if (at == std::string_view::npos) return text;
    text += schema;
    text += '.';
    sql.remove_prefix(at + written_schema.size());
  }
}

Statements::Known& Statements::find(std::string_view sql) {
  if (const auto found = known_.find(sql); found != known_.end()) return found->second;
  Known known{.sql = in_schema(sql, schema_), .name = "p" + std::to_string(known_.size())};
  return known_.emplace(std::string(sql), std::move(known)).first->second;
}

}  // namespace perdure::postgres
