// Our verdicts, line by line, in the words of oracle.mjs; and, with --errors, what is wrong.

#include <cstdio>
#include <iostream>
#include <string>
#include <string_view>

#include "agent/api/json_schema.hpp"
#include "perdure/core/json.hpp"

using perdure::Json;

int main(int argc, char** argv) {
  const bool tells = argc > 1 && std::string_view(argv[1]) == "--errors";
  for (std::string line; std::getline(std::cin, line);) {
    const auto given = perdure::parse_json(line);
    if (!given) return 2;
    const auto schema = perdure::JsonSchema::compile(*given->find("schema"));
    if (!schema) {
      std::cout << Json("refused").text() << (tells ? schema.error().message : "") << "\n";
      continue;
    }
    Json::Array answer;
    for (const Json& value : *given->find("values")->as_array()) {
      const auto errors = schema->check(value);
      answer.emplace_back(errors.empty());
      if (!tells) continue;
      for (const auto& error : errors) {
        std::cout << "  " << error.at << " [" << error.rule << "] " << error.message << "\n";
      }
    }
    std::cout << Json(answer).text() << "\n";
  }
  return 0;
}
