// What a program is told, as `name=value`: its words, or its environment.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace perdure::agents {

class Words {
 public:
  explicit Words(std::span<char* const> words) {
    for (const std::string_view word : words) {
      const auto equals = word.find('=');
      by_name_[std::string(word.substr(0, equals))] = word.substr(equals + 1);
    }
  }
  /// As main is given it.
  [[nodiscard]] static Words from_environment(char* const* environment) {
    std::size_t count = 0;
    while (environment[count] != nullptr) ++count;
    return Words(std::span(environment, count));
  }

  [[nodiscard]] std::optional<std::string> find(const std::string& name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? std::nullopt : std::optional(found->second);
  }
  /// Empty if it is not there.
  [[nodiscard]] std::string text(const std::string& name) const { return find(name).value_or(""); }
  /// 0 if it is not there.
  [[nodiscard]] std::uint64_t number(const std::string& name) const {
    const std::string word = text(name);
    return word.empty() ? 0 : std::stoull(word);
  }

 private:
  std::map<std::string, std::string> by_name_;
};

}  // namespace perdure::agents
