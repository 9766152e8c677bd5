// A character that does not fit becomes one that does, so that what is around it can be read.

#include "session/row_words.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <variant>

#include "core/api/text.hpp"
#include "perdure/store/commit.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"

namespace perdure {
namespace {

constexpr std::string_view left_out = "…";

bool is_control(std::string_view character) {
  const auto lead = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return lead < 0x20 || lead == 0x7F;
  return character.size() == 2 && lead == 0xC2 && static_cast<unsigned char>(character[1]) < 0xA0;
}

bool is_of_lines(std::string_view character) {
  return character == "\n" || character == "\r" || character == "\t";
}

}  // namespace

std::string row_words(std::string_view words, std::size_t bytes_max) {
  std::string fitting;
  std::size_t cut_at = 0;  // Where there is room left for the mark.
  while (!words.empty() && fitting.size() <= bytes_max) {
    const std::string_view character = first_character(words);
    const bool fits = !character.empty() && (is_of_lines(character) || !is_control(character));
    fitting += fits ? character : "?";
    words.remove_prefix(std::max<std::size_t>(1, character.size()));
    if (fitting.size() + left_out.size() <= bytes_max) cut_at = fitting.size();
  }
  if (fitting.size() <= bytes_max) return fitting;
  return fitting.substr(0, cut_at).append(left_out);
}

std::string row_name(std::string_view name) {
  std::string fitting = row_words(name, name_bytes_max);
  std::ranges::replace_if(fitting, [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, '?');
  if (fitting.starts_with(' ')) fitting.front() = '?';
  if (fitting.ends_with(' ')) fitting.back() = '?';
  return fitting.empty() ? "?" : fitting;
}

void fit_rows(Batch& batch) {
  for (CallChange& change : batch.calls) {
    auto* const settled = std::get_if<Settle>(&change);
    if (settled == nullptr) continue;
    settled->why = row_words(settled->why, text_bytes_max);
    if (!settled->who.empty()) settled->who = row_name(settled->who);
  }
  if (!batch.status) return;
  batch.status->wait_reason = row_words(batch.status->wait_reason, text_bytes_max);
}

}  // namespace perdure
