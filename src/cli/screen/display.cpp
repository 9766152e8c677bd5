// One place for every unit and every icon, so that no two screens differ.

#include "screen/display.hpp"

#include <array>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "perdure/core/time.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/bundle.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/upkeep.hpp"
#include "screen/screen.hpp"

namespace perdure::cli {
namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using std::chrono::weeks;

struct Face {
  ShownState standing;
  std::string_view name;
  std::string_view icon;
  Ink ink;
};

constexpr std::array<Face, 10> faces = {{
    {ShownState::active, "active", "»", Ink::cyan},
    {ShownState::waiting, "waiting", "…", Ink::yellow},
    {ShownState::paused, "paused", "‖", Ink::yellow},
    {ShownState::completed, "completed", "✓", Ink::green},
    {ShownState::failed, "failed", "✗", Ink::red},
    {ShownState::cancelled, "cancelled", "–", Ink::dim},
    {ShownState::ready, "ready", "»", Ink::plain},
    {ShownState::interrupted, "interrupted", "~", Ink::yellow},
    {ShownState::needs_attention, "needs_attention", "!", Ink::red},
    {ShownState::moved, "moved", "→", Ink::dim},
}};

// Nothing of it was interrupted: all that it has is its parent's.
bool is_fresh_fork(const SessionSummary& row) {
  return row.parent && row.parent->lineage == Lineage::fork && !row.holder &&
         row.head == row.parent->position;
}

Piece with_face(std::string_view icon, std::string_view name, Ink ink, bool with_icon) {
  std::string word(name);
  for (char& letter : word) letter = letter == '_' ? ' ' : letter;
  return {with_icon ? fmt::format("{} {}", icon, word) : word, ink};
}

std::pair<std::string_view, Ink> face_of(CallState state) {
  switch (state) {
    case CallState::intended:
      return {"…", Ink::dim};
    case CallState::dispatched:
      return {"»", Ink::cyan};
    case CallState::succeeded:
      return {"✓", Ink::green};
    case CallState::failed:
      return {"✗", Ink::red};
    case CallState::in_doubt:
      return {"!", Ink::red};
    case CallState::abandoned:
      return {"?", Ink::yellow};
    case CallState::denied:
    case CallState::cancelled:
      break;
  }
  return {"–", Ink::dim};
}

}  // namespace

std::string short_span(Duration span) {
  if (span >= weeks(9)) return fmt::format("{}w", span / weeks(1));
  if (span >= days(2)) return fmt::format("{}d", span / days(1));
  if (span >= hours(2)) return fmt::format("{}h", span / hours(1));
  if (span >= minutes(2)) return fmt::format("{}m", span / minutes(1));
  return fmt::format("{}s", span / seconds(1));
}

std::string exact_span(Duration span) {
  if (span < minutes(1)) return fmt::format("{:.1f}s", static_cast<double>(span.count()) / 1000);
  if (span < hours(1)) return fmt::format("{}m{:02}s", span / minutes(1), span / seconds(1) % 60);
  return fmt::format("{}h{:02}m", span / hours(1), span / minutes(1) % 60);
}

std::string relative(Timestamp time, Timestamp now) {
  if (time > now) return "in " + short_span(time - now);
  if (now - time < seconds(1)) return "now";
  return short_span(now - time) + " ago";
}

std::string short_count(std::int64_t number) {
  if (std::abs(number) < 1000) return std::to_string(number);
  const auto value = static_cast<double>(number);
  if (std::abs(number) < 1'000'000) return fmt::format("{:.1f}k", value / 1e3);
  return fmt::format("{:.1f}M", value / 1e6);
}

std::string grouped(std::int64_t number) {
  std::string digits = std::to_string(number);
  const std::size_t first = number < 0 ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3;) digits.insert(at -= 3, ",");
  return digits;
}

std::string dollars(std::int64_t micros) {
  const auto value = static_cast<double>(micros) / 1e6;
  return std::abs(micros) < 100'000 ? fmt::format("${:.4f}", value) : fmt::format("${:.2f}", value);
}

std::string cost_words(std::int64_t micros, bool is_known) {
  if (is_known) return dollars(micros);
  return micros > 0 ? "at least " + dollars(micros) : "cost unknown";
}

std::string unconfirmed_words(std::int64_t micros) {
  return micros > 0 ? fmt::format(", up to {} unconfirmed", dollars(micros)) : "";
}

std::string bytes_text(std::uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  auto value = static_cast<double>(bytes) / 1024;
  for (const std::string_view unit : {"KiB", "MiB"}) {
    if (value < 1024) return fmt::format("{:.1f} {}", value, unit);
    value /= 1024;
  }
  return fmt::format("{:.1f} GiB", value);
}

std::optional<Duration> span_from(std::string_view text) {
  if (text.size() < 2) return std::nullopt;
  std::int64_t number = 0;
  const char* end = text.data() + text.size() - 1;
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || rest != end || number < 0 || number > 1'000'000) return std::nullopt;
  switch (text.back()) {
    case 's':
      return seconds(number);
    case 'm':
      return minutes(number);
    case 'h':
      return hours(number);
    case 'd':
      return days(number);
    case 'w':
      return weeks(number);
    default:
      return std::nullopt;
  }
}

std::string counted(std::uint64_t number, std::string_view noun) {
  return fmt::format("{} {}{}", grouped(static_cast<std::int64_t>(number)), noun,
                     number == 1 ? "" : "s");
}

ShownState shown_state(const SessionSummary& row) {
  if (!row.moved_to.empty()) return ShownState::moved;
  if (row.needs_attention()) return ShownState::needs_attention;
  if (row.is_interrupted()) return is_fresh_fork(row) ? ShownState::ready : ShownState::interrupted;
  return shown_state_from(to_string(row.status)).value_or(ShownState::active);
}

std::string_view to_string(ShownState standing) {
  return faces.at(std::to_underlying(standing)).name;
}

std::string status_words(const StatusNote& note) {
  const std::string_view what = note.status == Status::active ? "resumed" : to_string(note.status);
  return fmt::format("{} by {}: {}", what, note.who, note.why);
}

std::optional<ShownState> shown_state_from(std::string_view text) {
  for (const Face& face : faces) {
    if (face.name == text) return face.standing;
  }
  return std::nullopt;
}

Piece shown(ShownState standing, bool with_icon) {
  const Face& face = faces.at(std::to_underlying(standing));
  return with_face(face.icon, face.name, face.ink, with_icon);
}

Piece shown(CallState state, bool with_icon) {
  const auto [icon, ink] = face_of(state);
  return with_face(icon, to_string(state), ink, with_icon);
}

std::string shown_id(const std::string& id, bool is_terminal) {
  constexpr std::size_t minted = 30;
  constexpr std::size_t enough = 16;
  const bool is_minted = id.size() == minted && id.starts_with("ses_");
  return is_terminal && is_minted ? id.substr(0, enough) : id;
}

void print_damage(Screen& screen, const std::vector<Damage>& list) {
  for (const Damage& damage : list) {
    const std::string where = damage.session ? damage.session->text() : "store";
    screen.line({{fmt::format("! {}", to_string(damage.fault)), Ink::red},
                 {fmt::format("  {}: {}", where, damage.what)}});
  }
}

std::string bundle_words(const BundleReport& report) {
  return fmt::format("{}, {} entries, {}", counted(report.sessions.size(), "session"),
                     report.entries, counted(report.calls, "call"));
}

}  // namespace perdure::cli
