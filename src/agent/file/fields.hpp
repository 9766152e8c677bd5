// Values of an object that the schema has found to be right: each is there as declared, or not at
// all, and then it stays what it was.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "perdure/core/json.hpp"
#include "perdure/core/time.hpp"

namespace perdure::agent_file {

class Fields {
 public:
  explicit Fields(const Json& object) : object_(&object) {}

  [[nodiscard]] bool has(std::string_view key) const { return object_->find(key) != nullptr; }
  /// The object of that key, or an empty one.
  [[nodiscard]] Fields object(std::string_view key) const;
  [[nodiscard]] const Json::Object& members(std::string_view key) const;
  [[nodiscard]] const Json* find(std::string_view key) const { return object_->find(key); }

  void read(std::string_view key, std::string& to) const;
  void read(std::string_view key, bool& to) const;
  void read(std::string_view key, std::int64_t& to) const;
  void read(std::string_view key, std::size_t& to) const;
  void read(std::string_view key, Duration& to) const;
  void read(std::string_view key, std::vector<std::string>& to) const;
  void read(std::string_view key, std::vector<int>& to) const;
  void read(std::string_view key, std::map<std::string, std::string>& to) const;

  /// The word of that key; `otherwise` if it is not there.
  [[nodiscard]] std::string word(std::string_view key, std::string_view otherwise) const;

 private:
  const Json* object_;
};

/// A JSON pointer, one member further.
[[nodiscard]] std::string pointer_to(std::string_view pointer, std::string_view member);

}  // namespace perdure::agent_file
