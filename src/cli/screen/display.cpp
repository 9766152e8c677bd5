// One place for every unit and every icon, so that no two screens differ. In JSON, times are RFC 3339 in
// UTC, money is millionths of a dollar, and what is not known is null. Values that have a JSON form of their
// own keep it.

#include "screen/display.hpp"

#include <array>
#include <chrono>
#include <cstdlib>
#include <fmt/format.h>
#include <utility>
#include <variant>

#include "core/api/json_text.hpp"
#include "core/api/text.hpp"
#include "perdure/agent/agent.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/sessions.hpp"
#include "runtime/api/records.hpp"
#include "runtime/api/state_details.hpp"

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

// In the order of CallState.
constexpr std::array<std::pair<std::string_view, Ink>, 8> call_faces = {{{"…", Ink::dim},
                                                                         {"»", Ink::cyan},
                                                                         {"✓", Ink::green},
                                                                         {"✗", Ink::red},
                                                                         {"!", Ink::red},
                                                                         {"?", Ink::yellow},
                                                                         {"–", Ink::dim},
                                                                         {"–", Ink::dim}}};

Json read_back(const std::string& text) { return parse_json(text).value_or(Json(text)); }

Json holder_json(const std::optional<Holder>& holder) {
  if (!holder) return nullptr;
  return Json::Object{
      {"worker", holder->worker.text()},    {"host", holder->host},   {"pid", holder->pid},
      {"since", to_iso8601(holder->since)}, {"fence", holder->fence}, {"alive", holder->alive}};
}

Json parent_json(const std::optional<Parent>& parent) {
  if (!parent) return nullptr;
  return Json::Object{{"session", parent->session.text()},
                      {"position", parent->position},
                      {"lineage", parent->lineage == Lineage::fork ? "fork" : "child"}};
}

Json body_value(const Body& body) {
  if (const auto blob = body.blob()) return Json::Object{{"blob", to_hex(blob->digest)}};
  if (body.codec() == Codec::json) return read_back(body.bytes());
  return Json::Object{{"bytes", to_base64(body.bytes())}};
}

Json messages_value(const State& state) {
  return json_list(state.transcript, [](const PlacedMessage& placed) {
    return Json::Object{{"position", placed.position},
                        {"message", read_back(to_json(placed.message))}};
  });
}

Json budget_value(const BudgetTotals& totals) {
  return Json::Object{{"limit", totals.limit ? Json(*totals.limit) : Json(nullptr)},
                      {"spent", totals.spent},
                      {"unconfirmed", totals.unconfirmed},
                      {"reserved", totals.reserved},
                      {"granted", totals.granted}};
}

Json channels_value(const State& state) {
  Json::Object channels;
  for (const auto& [name, items] : state.channels) {
    channels.emplace_back(
        name, json_list(items, [](const ChannelItem& item) { return body_value(item.body); }));
  }
  return channels;
}

Json scratchpad_value(const State& state) {
  Json::Object notes;
  for (const auto& [key, value] : state.scratchpad.values) {
    const auto* text = std::get_if<std::string>(&value);
    notes.emplace_back(key,
                       text != nullptr
                           ? Json(*text)
                           : Json(Json::Object{{"blob", to_hex(std::get<BlobRef>(value).digest)}}));
  }
  return notes;
}

Json open_calls_value(const State& state) {
  Json::Array calls;
  for (const auto& [position, call] : state.details->open_calls) {
    calls.push_back(Json::Object{{"position", position},
                                 {"tool", call.tool},
                                 {"args", std::string(args_of(state, call).value_or(""))},
                                 {"attempts", call.attempts},
                                 {"doubt", call.doubt ? Json(*call.doubt) : Json(nullptr)}});
  }
  return calls;
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
  const auto whole = number_from(text.substr(0, text.size() - 1));
  if (!whole || *whole > 1'000'000) return std::nullopt;
  const std::int64_t number = *whole;
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
  std::string words = fmt::format("{} {}", grouped(static_cast<std::int64_t>(number)), noun);
  if (number == 1) return words;
  if (!noun.ends_with('y')) return words + "s";
  words.back() = 'i';
  return words + "es";
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
  const auto [icon, ink] = call_faces.at(std::to_underlying(state));
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

Json as_json(const std::optional<Timestamp>& time) {
  return time ? Json(to_iso8601(*time)) : Json(nullptr);
}

Json as_json(const std::vector<std::string>& texts) {
  return json_list(texts, [](const std::string& text) { return Json(text); });
}

Json as_json(const std::vector<Damage>& damage) {
  return json_list(damage, [](const Damage& each) {
    return Json::Object{{"fault", to_string(each.fault)},
                        {"session", each.session ? Json(each.session->text()) : Json(nullptr)},
                        {"first", each.first},
                        {"last", each.last},
                        {"what", each.what}};
  });
}

Json::Object bundle_members(const std::string& file, const BundleReport& report) {
  return {{"file", file},
          {"sessions", json_list(report.sessions, &SessionId::text)},
          {"entries", report.entries},
          {"calls", report.calls},
          {"blobs", report.blobs},
          {"bytes", report.bytes},
          {"digest", to_hex(report.digest)}};
}

Json as_json(const Tally& tally) {
  return Json::Object{{"turns", tally.turns},
                      {"steps", tally.steps},
                      {"tokens_in", tally.tokens_in},
                      {"tokens_out", tally.tokens_out},
                      {"cost_micros", tally.cost_micros}};
}

Json as_json(const Tally& tally, bool is_cost_known) {
  Json made = as_json(tally);
  made.set("is_cost_known", is_cost_known);
  return made;
}

Json as_json(const SessionSummary& row) {
  return Json::Object{{"id", row.id.text()},
                      {"title", row.title},
                      {"opening", row.opening},
                      {"state", to_string(shown_state(row))},
                      {"status", to_string(row.status)},
                      {"wait_reason", row.wait_reason},
                      {"wake_at", as_json(row.wake_at)},
                      {"in_doubt", row.attention},
                      {"restored", row.restored},
                      {"tags", as_json(row.tags)},
                      {"metadata", read_back(row.metadata)},
                      {"parent", parent_json(row.parent)},
                      {"holder", holder_json(row.holder)},
                      {"head", row.head},
                      {"version", row.version},
                      {"totals", as_json(row.tally)},
                      {"moved_to", row.moved_to},
                      {"created_at", to_iso8601(row.created_at)},
                      {"updated_at", to_iso8601(row.updated_at)}};
}

Json as_json(const Call& call) {
  return Json::Object{{"call", call_name(call.session, call.position)},
                      {"session", call.session.text()},
                      {"position", call.position},
                      {"tool", call.tool},
                      {"effect", to_string(call.effect)},
                      {"state", to_string(call.state)},
                      {"attempts", call.attempts},
                      {"key", call.key ? Json(to_hex(*call.key)) : Json(nullptr)},
                      {"intended_at", to_iso8601(call.intended_at)},
                      {"dispatched_at", as_json(call.dispatched_at)},
                      {"settled_at", as_json(call.settled_at)},
                      {"who", call.who},
                      {"why", call.why}};
}

Json as_json(const Checkpoint& checkpoint) {
  return Json::Object{
      {"version", checkpoint.version},      {"position", checkpoint.position},
      {"at", to_iso8601(checkpoint.at)},    {"reason", checkpoint.reason},
      {"label", checkpoint.label},          {"metadata", read_back(checkpoint.metadata)},
      {"totals", as_json(checkpoint.tally)}};
}

Json as_json(const Entry& entry) {
  Json::Object made = {{"position", entry.position},
                       {"at", to_iso8601(entry.at)},
                       {"channel", entry.channel},
                       {"kind", entry.kind},
                       {"fold", entry.fold == Fold::append ? "append" : "replace"},
                       {"hash", to_hex(entry.hash)}};
  if (entry.condition != Condition::intact) {
    made.emplace_back("condition", entry.condition == Condition::erased ? "erased" : "damaged");
  } else if (const auto blob = entry.body.blob()) {
    made.emplace_back("blob", Json::Object{{"digest", to_hex(blob->digest)}, {"size", blob->size}});
  } else if (entry.body.codec() == Codec::json) {
    made.emplace_back("body", read_back(entry.body.bytes()));
  } else {
    made.emplace_back("bytes", to_base64(entry.body.bytes()));
  }
  return made;
}

Json state_json(const State& state) {
  return Json::Object{{"head", state.head},
                      {"entries", state.entries},
                      {"totals", as_json(state.totals, !has_unknown_cost(state))},
                      {"setup", state.setup ? read_back(to_json(*state.setup)) : Json(nullptr)},
                      {"messages", messages_value(state)},
                      {"plan", state.plan ? read_back(to_json(*state.plan)) : Json(nullptr)},
                      {"budget", budget_value(state.budget.totals)},
                      {"counters", *read_back(to_json(state.counters)).find("counters")},
                      {"scratchpad", scratchpad_value(state)},
                      {"open_calls", open_calls_value(state)},
                      {"channels", channels_value(state)},
                      {"skipped", state.details->skipped.size()}};
}

std::string indented(const Json& value, std::size_t depth) {
  const std::string room((depth + 1) * 2, ' ');
  const std::string end(depth * 2, ' ');
  std::string made;
  if (const Json::Object* object = value.as_object(); object != nullptr && !object->empty()) {
    for (const auto& [name, member] : *object) {
      made += fmt::format("{}{}{}: {}", made.empty() ? "{\n" : ",\n", room, Json(name).text(),
                          indented(member, depth + 1));
    }
    return fmt::format("{}\n{}}}", made, end);
  }
  if (const Json::Array* array = value.as_array(); array != nullptr && !array->empty()) {
    for (const Json& element : *array) {
      made +=
          fmt::format("{}{}{}", made.empty() ? "[\n" : ",\n", room, indented(element, depth + 1));
    }
    return fmt::format("{}\n{}]", made, end);
  }
  return value.text();
}

Result<Json> value_at(const Json& value, std::string_view pointer) {
  if (const Json* found = find_by_pointer(value, pointer)) return *found;
  return fail(ErrorCode::not_found,
              fmt::format("there is nothing at {}; it is written as /messages/0/message", pointer));
}

}  // namespace perdure::cli
