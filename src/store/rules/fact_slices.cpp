// A slice is written in one transaction of the target: short, so that its own writers go on.

#include "rules/fact_slices.hpp"

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>

#include "perdure/store/log.hpp"
#include "store/api/transfer.hpp"

namespace perdure::rules {

namespace {

constexpr std::size_t facts_max = 512;
// Receipts are small, and to read them in order all of a session are sorted.
constexpr std::size_t receipts_max = 4096;

std::uint64_t size_of(const Fact& fact) {
  if (const auto* entry = std::get_if<Entry>(&fact)) return entry->body.bytes().size();
  if (const auto* message = std::get_if<MessageFact>(&fact)) {
    return message->message.body.bytes().size();
  }
  return 0;
}

FactKind after(FactKind kind) { return static_cast<FactKind>(static_cast<std::uint8_t>(kind) + 1); }

// The number before the next space, which is taken off too.
std::optional<std::uint64_t> take_number(std::string_view& text) {
  const std::size_t end = text.find(' ');
  if (end == std::string_view::npos) return std::nullopt;
  std::uint64_t number = 0;
  const std::string_view digits = text.substr(0, end);
  const char* last = digits.data() + digits.size();
  const auto read = std::from_chars(digits.data(), last, number);
  if (read.ec != std::errc{} || read.ptr != last) return std::nullopt;
  text.remove_prefix(end + 1);
  return number;
}

}  // namespace

std::string to_text(const FactCursor& cursor) {
  return fmt::format("{} {} {} {}", static_cast<int>(cursor.kind), cursor.group, cursor.number,
                     cursor.name);
}

std::optional<FactCursor> fact_cursor_from(std::string_view text) {
  const auto kind = take_number(text);
  const auto group = take_number(text);
  const auto number = take_number(text);
  if (!kind || !group || !number || *kind > static_cast<std::uint64_t>(FactKind::none)) {
    return std::nullopt;
  }
  return FactCursor{.kind = static_cast<FactKind>(*kind),
                    .group = *group,
                    .number = *number,
                    .name = std::string(text)};
}

std::size_t SliceMaker::room() const {
  const std::size_t most = at_.kind == FactKind::receipt ? receipts_max : facts_max;
  return bytes_ >= slice_bytes_max ? 0 : most - slice_.facts.size();
}

void SliceMaker::add(std::uint64_t group, std::uint64_t number, Fact fact) {
  bytes_ += size_of(fact);
  slice_.facts.push_back(std::move(fact));
  at_ = {.kind = at_.kind, .group = group, .number = number, .name = {}};
}

void SliceMaker::add(std::uint64_t group, std::string name, Fact fact) {
  add(group, 0, std::move(fact));
  at_.name = std::move(name);
}

bool SliceMaker::go_on() {
  if (at_.kind == FactKind::none) return false;
  at_ = {.kind = after(at_.kind), .group = 0, .number = 0, .name = {}};
  return slice_.facts.empty() && at_.kind != FactKind::none;
}

FactSlice SliceMaker::finish() && {
  slice_.next = std::move(at_);
  return std::move(slice_);
}

}  // namespace perdure::rules
