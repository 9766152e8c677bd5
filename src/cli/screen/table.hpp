// Rows under a heading, in columns. On a terminal they fit its width: columns that may give way are
// cut, then left out. Elsewhere nothing is.

#pragma once

#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "screen/screen.hpp"

namespace perdure::cli {

struct Column {
  std::string_view heading;
  bool is_right = false;  ///< Numbers.
  std::size_t least = 0;  ///< Gives way down to so many columns; 0: never.
  int drop = 0;           ///< Left out on a narrow terminal, the highest first; 0: never.
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// A piece for each column.
  void add(std::vector<Piece> row);
  [[nodiscard]] bool empty() const { return rows_.empty(); }
  void print(Screen& screen) const;

 private:
  [[nodiscard]] std::vector<std::size_t> natural_widths() const;
  void fit(std::vector<std::size_t>& widths, std::size_t room) const;

  std::vector<Column> columns_;
  std::vector<std::vector<Piece>> rows_;
};

}  // namespace perdure::cli
