// The sections of an agent file, from JSON that the schema has found to be right. What the schema
// cannot say is checked here.
//
// Fields reads the values of one object: each is there as declared, or not at all, and then it
// stays what it was. A Reading is the file while it is read: what is wrong with it, and files that
// it refers to.

#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/api/agent_file.hpp"
#include "file/yaml_document.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/time.hpp"

namespace perdure::agent_file {

/// The JSON Schema of agent files: docs/reference/agent.schema.json, as it was when this was
/// compiled.
[[nodiscard]] std::string_view agent_schema();

class Fields {
 public:
  explicit Fields(const Json& object) : object_(&object) {}

  [[nodiscard]] bool has(std::string_view key) const { return object_->find(key) != nullptr; }
  /// The object of that key, or an empty one.
  [[nodiscard]] Fields object(std::string_view key) const;
  [[nodiscard]] const Json::Object& members(std::string_view key) const;
  [[nodiscard]] const Json* find(std::string_view key) const { return object_->find(key); }

  /// Leaves `to` as it is if the key is not there.
  template <class Value>
  void read(std::string_view key, Value& to) const {
    if (const Json* found = find(key)) take(*found, to);
  }

  /// The word of that key; `otherwise` if it is not there.
  [[nodiscard]] std::string word(std::string_view key, std::string_view otherwise) const;

 private:
  static void take(const Json& json, std::string& to) { to = *json.as_string(); }
  static void take(const Json& json, bool& to) { to = *json.as_bool(); }
  static void take(const Json& json, std::int64_t& to) { to = whole(json); }
  static void take(const Json& json, std::size_t& to) {
    to = static_cast<std::size_t>(whole(json));
  }
  static void take(const Json& json, int& to) { to = static_cast<int>(whole(json)); }
  static void take(const Json& json, Duration& to);
  static void take(const Json& json, std::map<std::string, std::string>& to) {
    for (const auto& [name, value] : *json.as_object()) to[name] = *value.as_string();
  }
  template <class Value>
  static void take(const Json& json, std::vector<Value>& to) {
    to.clear();
    for (const Json& element : *json.as_array()) take(element, to.emplace_back());
  }
  static std::int64_t whole(const Json& number);

  const Json* object_;
};

/// A JSON pointer, one member further.
[[nodiscard]] std::string pointer_to(std::string_view pointer, std::string_view member);

/// All references outlive it.
class Reading {
 public:
  Reading(const YamlDocument& document, std::filesystem::path folder, const FileReader& read)
      : document_(document), folder_(std::move(folder)), read_(read) {}

  void found(std::string_view pointer, std::string what) {
    if (findings_.size() == findings_max) return;
    findings_.push_back({spot_at(document_, pointer).place.at, std::move(what)});
  }

  /// The file's content; empty, and found to be wrong, if it cannot be had.
  [[nodiscard]] std::string content(std::string_view pointer, const std::string& path);

  /// The files whose content was asked for.
  [[nodiscard]] const std::vector<std::string>& sources() const { return sources_; }
  [[nodiscard]] const Json& value() const { return document_.value; }
  [[nodiscard]] Findings findings() && { return std::move(findings_); }

 private:
  const YamlDocument& document_;
  std::filesystem::path folder_;
  const FileReader& read_;
  Findings findings_;
  std::vector<std::string> sources_;
};

[[nodiscard]] ModelSpec read_model(Reading& reading);

/// Also the roots, the secrets and the scratchpad, which belong to the tools.
void read_tools(Reading& reading, AgentFile& to);

/// Permissions, money, limits, and what is done in doubt.
void read_rules(Reading& reading, AgentFile& to);

/// A pattern with ".." would never fit, and what it was to deny or hide would be open.
void check_path_pattern(Reading& reading, std::string_view pointer, std::string_view key,
                        std::string_view pattern);

}  // namespace perdure::agent_file
