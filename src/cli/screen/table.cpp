// Two spaces between columns.

#include "screen/table.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "screen/screen.hpp"
#include "screen/text.hpp"

namespace perdure::cli {
namespace {

constexpr std::size_t gap = 2;

std::vector<Piece> padded(const std::vector<Piece>& row, const std::vector<Column>& columns,
                          const std::vector<std::size_t>& widths) {
  std::vector<Piece> line;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const std::string text = clipped(row[i].text, widths[i]);
    const std::string room(widths[i] - std::min(widths[i], width_of(text)), ' ');
    const bool is_last = i + 1 == row.size();
    if (widths[i] == 0) continue;
    if (i > 0) line.push_back({std::string(gap, ' ')});
    if (columns[i].is_right) line.push_back({room});
    line.push_back({text, row[i].ink});
    if (!columns[i].is_right && !is_last) line.push_back({room});
  }
  return line;
}

}  // namespace

void Table::add(std::vector<Piece> row) {
  for (Piece& piece : row) piece.text = visible(piece.text);
  rows_.push_back(std::move(row));
}

std::vector<std::size_t> Table::natural_widths() const {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    widths.push_back(width_of(columns_[i].heading));
    for (const auto& row : rows_) widths[i] = std::max(widths[i], width_of(row[i].text));
  }
  return widths;
}

void Table::fit(std::vector<std::size_t>& widths, std::size_t room) const {
  const auto total = [&] {
    std::size_t sum = 0;
    for (const std::size_t width : widths) sum += width == 0 ? 0 : width + gap;
    return sum - gap;
  };
  for (std::size_t i = columns_.size(); i-- > 0 && total() > room;) {
    if (columns_[i].least == 0 || widths[i] <= columns_[i].least) continue;
    widths[i] -= std::min(total() - room, widths[i] - columns_[i].least);
  }
  while (total() > room) {
    const auto first = std::ranges::max_element(columns_, {}, [&](const Column& column) {
      return widths[static_cast<std::size_t>(&column - columns_.data())] == 0 ? 0 : column.drop;
    });
    std::size_t& width = widths[static_cast<std::size_t>(first - columns_.begin())];
    if (first->drop == 0 || width == 0) return;
    width = 0;
  }
}

void Table::print(Screen& screen) const {
  auto widths = natural_widths();
  if (screen.is_terminal()) fit(widths, screen.columns());
  std::vector<Piece> heading;
  for (const Column& column : columns_) heading.push_back({std::string(column.heading), Ink::bold});
  screen.line(padded(heading, columns_, widths));
  for (const auto& row : rows_) screen.line(padded(row, columns_, widths));
}

}  // namespace perdure::cli
