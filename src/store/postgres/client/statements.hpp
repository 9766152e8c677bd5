// The statements one connection has met: as the server is to see them, and by which name.

#pragma once

#include <cstddef>
#include <functional>
#include <libpq-fe.h>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace perdure::postgres {

/// `"my schema"`, as an identifier of SQL.
[[nodiscard]] std::string quoted_name(std::string_view identifier);

/// `sql` with every `perdure.` replaced by `schema`, which is quoted already, and a dot.
[[nodiscard]] std::string in_schema(std::string_view sql, std::string_view schema);

class Statements {
 public:
  struct Known {
    std::string sql{};         ///< In the schema of the store.
    std::string name{};        ///< For the server.
    std::vector<Oid> types{};  ///< Of the parameters it was prepared with.
    bool is_prepared = false;
    bool is_sent = false;  ///< In the pipeline under way.
  };

  explicit Statements(std::string_view schema) : schema_(quoted_name(schema)) {}

  /// Stays where it is as long as this lives.
  [[nodiscard]] Known& find(std::string_view sql);
  [[nodiscard]] const std::string& schema() const { return schema_; }

 private:
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };

  std::string schema_;
  std::unordered_map<std::string, Known, TextHash, std::equal_to<>> known_;
};

}  // namespace perdure::postgres
