// What a session has beside its messages and calls: budget, setup, origin, children, counters, notes of
// its status, scratchpad. Their fields in JSON, and their rules.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <expected>
#include <fmt/format.h>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "runtime/api/fields.hpp"
#include "runtime/api/records.hpp"
#include "runtime/api/state_details.hpp"
#include "store/api/limits.hpp"
#include "store/api/lookup.hpp"

namespace perdure {

constexpr std::string_view shape_name(const BudgetTotals& /*as*/) { return "budget's totals"; }
void fields(auto& archive, values::Like<BudgetTotals> auto& totals) {
  archive("limit", totals.limit);
  archive("spent", totals.spent);
  archive("unconfirmed", totals.unconfirmed);
  archive("reserved", totals.reserved);
  archive("granted", totals.granted);
  const std::int64_t least = std::min({totals.limit.value_or(0), totals.spent, totals.unconfirmed,
                                       totals.reserved, totals.granted});
  archive.expect(least >= 0, "totals", "numbers that are not below zero");
  // A sum that saturates fits nothing.
  archive.expect(totals.recorded() != std::numeric_limits<std::int64_t>::max(), "totals",
                 "a sum within 64 bits");
}

constexpr std::string_view shape_name(const BudgetEntry& /*as*/) { return "budget entry"; }
void fields(auto& archive, values::Like<BudgetEntry> auto& entry) {
  archive("subject", entry.subject);
  archive("micros", entry.micros);
  archive("what", entry.what);
  archive("after", entry.after);
}

constexpr std::string_view shape_name(const ToolDefinition& /*as*/) { return "tool definition"; }
void fields(auto& archive, values::Like<ToolDefinition> auto& tool) {
  archive.require("name");
  archive("name", tool.name);
  archive("description", tool.description);
  archive("input_schema", tool.input_schema);
}

constexpr std::string_view shape_name(const Setup& /*as*/) { return "setup"; }
void fields(auto& archive, values::Like<Setup> auto& setup) {
  archive("system_prompt", setup.system_prompt);
  archive("model", setup.model);
  archive("parameters", setup.parameters);
  archive("tools", setup.tools);
}

constexpr std::string_view shape_name(const Origin& /*as*/) { return "origin"; }
void fields(auto& archive, values::Like<Origin> auto& origin) {
  archive.require("root");
  archive("root", origin.root);
  archive("nonce", origin.nonce);
  archive("agent_digest", origin.agent_digest);
}

constexpr std::string_view shape_name(const AgentChange& /*as*/) { return "change of agent"; }
void fields(auto& archive, values::Like<AgentChange> auto& change) {
  archive.require("agent_digest");
  archive("agent_digest", change.agent_digest);
  archive("parts", change.parts);
  archive("who", change.who);
}

constexpr std::string_view shape_name(const ChildSpawn& /*as*/) { return "spawn"; }
void fields(auto& archive, values::Like<ChildSpawn> auto& spawn) {
  archive.require("child", "root");
  archive("child", spawn.child);
  archive("root", spawn.root);
  archive("nonce", spawn.nonce);
  archive("agent_digest", spawn.agent_digest);
  archive("limit_micros", spawn.limit_micros);
  archive.expect(spawn.limit_micros.value_or(0) >= 0, "limit_micros", "at least 0");
  archive("setup", spawn.setup);
}

constexpr std::string_view shape_name(const ChildEnd& /*as*/) { return "end of a child"; }
void fields(auto& archive, values::Like<ChildEnd> auto& end) {
  archive.require("child", "spent_micros");
  archive("child", end.child);
  archive("number", end.number);
  archive.word("status", end.status, status_from);
  archive("spent_micros", end.spent_micros);
  archive.expect(end.spent_micros >= 0, "spent_micros", "at least 0");
  archive.sparse("unconfirmed_micros", end.unconfirmed_micros);
  const bool fits = end.unconfirmed_micros >= 0 && end.unconfirmed_micros <= end.spent_micros;
  archive.expect(fits, "unconfirmed_micros", "a part of what was spent");
  archive("result", end.result);
}

constexpr std::string_view shape_name(const Counters& /*as*/) { return "set of counters"; }
void fields(auto& archive, values::Like<Counters> auto& counters) {
  archive.require("counters");
  archive("counters", counters.values);
}

constexpr std::string_view shape_name(const StatusNote& /*as*/) { return "change of status"; }
void fields(auto& archive, values::Like<StatusNote> auto& note) {
  archive("who", note.who);
  archive("why", note.why);
}

namespace {

// A reference to a blob, or text.
void scratch_value(auto& archive, auto& value) {
  if constexpr (std::remove_cvref_t<decltype(archive)>::reads) {
    if (archive.has("blob")) value = BlobRef{};
  }
  if (auto* ref = std::get_if<BlobRef>(&value)) {
    archive.require("size");
    archive("blob", ref->digest);
    archive("size", ref->size);
  } else {
    archive.require("text");
    archive("text", std::get<std::string>(value));
  }
}

}  // namespace

constexpr std::string_view shape_name(const ScratchEntry& /*as*/) { return "scratchpad entry"; }
void fields(auto& archive, values::Like<ScratchEntry> auto& entry) {
  archive.require("key");
  archive("key", entry.key);
  if (entry.value) scratch_value(archive, *entry.value);
  archive.sparse("by", entry.by);
}

namespace {

constexpr std::array budget_changes = {
    std::pair{BudgetChange::limit, std::string_view("limit")},
    std::pair{BudgetChange::reserve, std::string_view("reserve")},
    std::pair{BudgetChange::spend, std::string_view("spend")},
    std::pair{BudgetChange::unconfirmed, std::string_view("unconfirmed")},
    std::pair{BudgetChange::release, std::string_view("release")},
    std::pair{BudgetChange::grant, std::string_view("grant")},
    std::pair{BudgetChange::give_back, std::string_view("return")},
};

std::unexpected<Error> not_open(std::string_view what, const std::string& subject) {
  return fail(ErrorCode::not_found, fmt::format("there is no open {} \"{}\"", what, subject),
              subject);
}

// Totals only leave here if they fit, so a difference of two of them always does.
Result<void> add(BudgetTotals& totals, std::int64_t BudgetTotals::* part, std::int64_t micros) {
  if (micros >= std::numeric_limits<std::int64_t>::max() - totals.recorded()) {
    return fail(ErrorCode::invalid_argument, "the sums of this budget would not fit 64 bits");
  }
  totals.*part += micros;
  return {};
}

// Takes a part back; where totals came from an entry, they may know of less than we do.
void take_off(std::int64_t& part, std::int64_t micros) {
  part = std::max<std::int64_t>(0, part - micros);
}

Reservation* find_open(Budget& budget, const std::string& id) {
  const auto open = budget.reservations.find(id);
  return open == budget.reservations.end() ? nullptr : &open->second;
}

// What an open reservation holds is no longer part of the totals.
void take_off(BudgetTotals& totals, const Reservation* open) {
  if (open == nullptr) return;
  take_off(open->is_unconfirmed ? totals.unconfirmed : totals.reserved, open->micros);
}

// Each of these gets the totals to change, and changes the rest of the budget only when they fit.

Result<void> reserve(Budget& budget, BudgetTotals& totals, const BudgetEntry& entry) {
  const Reservation* const open = find_open(budget, entry.subject);
  if (open != nullptr && open->is_unconfirmed) {
    return fail(
        ErrorCode::already_exists,
        fmt::format("the reservation \"{}\" is unconfirmed: its request was made", entry.subject),
        entry.subject);
  }
  take_off(totals, open);
  auto added = add(totals, &BudgetTotals::reserved, *entry.micros);
  if (!added) return added;
  budget.reservations.insert_or_assign(entry.subject,
                                       Reservation{.micros = *entry.micros, .what = entry.what});
  return {};
}

Result<void> spend(Budget& budget, BudgetTotals& totals, const BudgetEntry& entry) {
  take_off(totals, find_open(budget, entry.subject));
  auto added = add(totals, &BudgetTotals::spent, *entry.micros);
  if (!added) return added;
  budget.reservations.erase(entry.subject);
  return {};
}

Result<void> leave_unconfirmed(Budget& budget, BudgetTotals& totals, const BudgetEntry& entry) {
  Reservation* const open = find_open(budget, entry.subject);
  if (open == nullptr || open->is_unconfirmed) return not_open("reservation", entry.subject);
  const std::int64_t micros = entry.micros.value_or(open->micros);
  take_off(totals, open);
  auto added = add(totals, &BudgetTotals::unconfirmed, micros);
  if (!added) return added;
  open->micros = micros;
  open->is_unconfirmed = true;
  return {};
}

Result<void> release(Budget& budget, BudgetTotals& totals, const BudgetEntry& entry) {
  const Reservation* const open = find_open(budget, entry.subject);
  if (open == nullptr) return not_open("reservation", entry.subject);
  take_off(totals, open);
  budget.reservations.erase(entry.subject);
  return {};
}

Result<void> grant(Budget& budget, BudgetTotals& totals, const BudgetEntry& entry) {
  const auto open = budget.grants.find(entry.subject);
  const std::int64_t held = open == budget.grants.end() ? 0 : open->second;
  // Totals that came from an entry may know of less.
  if (*entry.micros > std::numeric_limits<std::int64_t>::max() - held) {
    return fail(ErrorCode::invalid_argument, "the sum of these grants would not fit 64 bits");
  }
  auto added = add(totals, &BudgetTotals::granted, *entry.micros);
  if (!added) return added;
  budget.grants.insert_or_assign(entry.subject, held + *entry.micros);
  return {};
}

// The grant ends: what did not come back was spent by the child.
Result<void> give_back(Budget& budget, BudgetTotals& totals, const BudgetEntry& entry) {
  const auto open = budget.grants.find(entry.subject);
  if (open == budget.grants.end()) return not_open("grant", entry.subject);
  const std::int64_t granted = open->second;
  if (*entry.micros > granted) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("{} of a grant of {} cannot come back", *entry.micros, granted),
                entry.subject);
  }
  take_off(totals.granted, granted);
  auto added = add(totals, &BudgetTotals::spent, granted - *entry.micros);
  if (!added) return added;
  budget.grants.erase(open);
  return {};
}

Result<void> change(Budget& budget, BudgetTotals& totals, const BudgetEntry& entry) {
  switch (entry.change) {
    case BudgetChange::limit:
      totals.limit = entry.micros;
      return {};
    case BudgetChange::reserve:
      return reserve(budget, totals, entry);
    case BudgetChange::spend:
      return spend(budget, totals, entry);
    case BudgetChange::unconfirmed:
      return leave_unconfirmed(budget, totals, entry);
    case BudgetChange::release:
      return release(budget, totals, entry);
    case BudgetChange::grant:
      return grant(budget, totals, entry);
    case BudgetChange::give_back:
      return give_back(budget, totals, entry);
  }
  return fail(ErrorCode::invalid_argument, "no change of a budget");
}

// To the micro: what is wanted may be a little more than what is left.
std::string dollars(std::int64_t micros) {
  constexpr std::int64_t in_a_dollar = 1'000'000;
  return fmt::format("{}${}.{:06}", micros < 0 ? "-" : "", std::abs(micros / in_a_dollar),
                     std::abs(micros % in_a_dollar));
}

// What a reservation has already is its own. One that is lowered fits, even beyond the limit.
std::optional<std::int64_t> available_to(const Budget& budget, const BudgetEntry& wanted) {
  auto available = budget.available();
  const auto open = budget.reservations.find(wanted.subject);
  if (!available || wanted.change != BudgetChange::reserve || open == budget.reservations.end()) {
    return available;
  }
  BudgetTotals without = budget.totals;
  take_off(without.reserved, open->second.micros);
  return std::max(*without.available(), open->second.micros);
}

constexpr std::size_t scratch_key_bytes_max = 128;

constexpr std::array status_kinds = {
    std::pair{Status::active, std::string_view("session_resumed")},
    std::pair{Status::waiting, std::string_view("session_waiting")},
    std::pair{Status::paused, std::string_view("session_paused")},
    std::pair{Status::completed, std::string_view("session_completed")},
    std::pair{Status::failed, std::string_view("session_failed")},
    std::pair{Status::cancelled, std::string_view("session_cancelled")},
};

bool sum_fits(std::int64_t a, std::int64_t b) {
  using Limits = std::numeric_limits<std::int64_t>;
  return b >= 0 ? a <= Limits::max() - b : a >= Limits::min() - b;
}

bool is_key_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

}  // namespace

std::int64_t BudgetTotals::recorded() const {
  std::int64_t sum = 0;
  for (const std::int64_t signed_part : {spent, unconfirmed, reserved, granted}) {
    const std::int64_t part = std::max<std::int64_t>(0, signed_part);
    if (part > std::numeric_limits<std::int64_t>::max() - sum) {
      return std::numeric_limits<std::int64_t>::max();
    }
    sum += part;
  }
  return sum;
}

std::optional<std::int64_t> BudgetTotals::available() const {
  if (!limit) return std::nullopt;
  return *limit > recorded() ? *limit - recorded() : 0;
}

std::string_view to_string(BudgetChange change) { return values::word_of(budget_changes, change); }
std::optional<BudgetChange> budget_change_from(std::string_view text) {
  return values::value_of(budget_changes, text);
}

std::string to_json(const BudgetEntry& entry) { return values::write(entry); }

Result<BudgetEntry> budget_entry_from_json(std::string_view kind, std::string_view text) {
  const auto change = budget_change_from(kind);
  if (!change) {
    return fail(ErrorCode::invalid_argument, fmt::format("\"{}\" changes no budget", kind));
  }
  return values::read(text, BudgetEntry{.change = *change});
}

Result<void> apply(Budget& budget, const BudgetEntry& entry) {
  if (entry.change == BudgetChange::limit && entry.micros.value_or(0) < 0) {
    return fail(ErrorCode::invalid_argument, "a limit below zero");
  }
  const bool is_all = entry.change == BudgetChange::unconfirmed && !entry.micros;
  const bool needs_amount =
      entry.change != BudgetChange::limit && entry.change != BudgetChange::release && !is_all;
  if (needs_amount && entry.micros.value_or(-1) < 0) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("{} needs an amount that is not below zero", to_string(entry.change)));
  }
  BudgetTotals after = budget.totals;
  if (auto changed = change(budget, after, entry); !changed) return changed;
  budget.totals = std::move(after);
  return {};
}

Result<BudgetEntry> enter(Budget& budget, BudgetEntry wanted) {
  const bool is_to_come =
      wanted.change == BudgetChange::reserve || wanted.change == BudgetChange::grant;
  const auto available = available_to(budget, wanted);
  if (is_to_come && available && wanted.micros.value_or(0) > *available) {
    return fail(ErrorCode::conflict,
                fmt::format("{} are wanted and {} are left of the budget: raise its limit, "
                            "or ask for less",
                            dollars(*wanted.micros), dollars(*available)),
                "budget");
  }
  auto applied = apply(budget, wanted);
  if (!applied) return forward(applied);
  wanted.after = budget.totals;
  return wanted;
}

Result<void> replay(Budget& budget, const BudgetEntry& entry) {
  auto applied = apply(budget, entry);
  if (!entry.after) return applied;
  budget.totals = *entry.after;
  budget.totals.unknown.clear();
  return {};
}

std::string to_json(const Setup& setup) { return values::write(setup); }
Result<Setup> setup_from_json(std::string_view text) { return values::read<Setup>(text); }

Origin root_origin(const SessionId& session, IdSource& ids) {
  return {.root = session.text(), .nonce = to_base32(ids.next())};
}

std::string to_json(const Origin& origin) { return values::write(origin); }
Result<Origin> origin_from_json(std::string_view text) { return values::read<Origin>(text); }

std::string to_json(const AgentChange& change) { return values::write(change); }
Result<AgentChange> agent_change_from_json(std::string_view text) {
  return values::read<AgentChange>(text);
}

SessionId child_of(const SessionId& parent, const OpenCall& call) {
  constexpr std::size_t digits = 32;
  const std::string digest =
      to_hex(sha256(fmt::format("child of {}:{} {}", parent.text(), call.call, call.nonce)));
  return SessionId::parse("ses_" + digest.substr(0, digits)).value();
}

std::string to_json(const ChildSpawn& spawn) { return values::write(spawn); }
Result<ChildSpawn> child_spawn_from_json(std::string_view text) {
  return values::read<ChildSpawn>(text);
}

std::string to_json(const ChildEnd& end) { return values::write(end); }
Result<ChildEnd> child_end_from_json(std::string_view text) { return values::read<ChildEnd>(text); }

std::int64_t Counters::at(std::string_view name) const {
  const auto found = values.find(name);
  return found == values.end() ? 0 : found->second;
}

Result<std::int64_t> add(Counters& counters, std::string_view name, std::int64_t number) {
  auto named = check_name("counter", name, name_bytes_max);
  if (!named) return forward(named);
  const std::int64_t before = counters.at(name);
  if (!sum_fits(before, number)) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("counter \"{}\" would not fit 64 bits", name), std::string(name));
  }
  counters.values.insert_or_assign(std::string(name), before + number);
  return before + number;
}

std::string to_json(const Counters& counters) { return values::write(counters); }
Result<Counters> counters_from_json(std::string_view text) { return values::read<Counters>(text); }

std::string_view status_kind(Status status) { return values::word_of(status_kinds, status); }

std::string to_json(const StatusNote& note) { return values::write(note); }

Result<StatusNote> status_note_from_json(std::string_view kind, std::string_view text) {
  auto note = values::read<StatusNote>(text);
  if (!note) return note;
  const auto status = values::value_of(status_kinds, kind);
  if (!status) {
    return fail(ErrorCode::invalid_argument, fmt::format("{} is no change of a status", kind));
  }
  note->status = *status;
  return note;
}

Result<void> check_scratch_key(std::string_view key) {
  if (!key.empty() && key.size() <= scratch_key_bytes_max &&
      std::ranges::all_of(key, is_key_character)) {
    return {};
  }
  return fail(ErrorCode::invalid_argument,
              fmt::format("a key of the scratchpad is 1 to {} of A-Z, a-z, 0-9, '_' and '-'",
                          scratch_key_bytes_max));
}

Result<void> apply(Scratchpad& scratchpad, ScratchEntry entry) {
  auto checked = check_scratch_key(entry.key);
  if (!checked) return checked;
  if (entry.value) {
    scratchpad.values.insert_or_assign(std::move(entry.key), *std::move(entry.value));
  } else {
    scratchpad.values.erase(entry.key);
  }
  return {};
}

std::string_view kind_of(const ScratchEntry& entry) { return entry.value ? "set" : "delete"; }

std::string to_json(const ScratchEntry& entry) { return values::write(entry); }

Result<ScratchEntry> scratch_entry_from_json(std::string_view kind, std::string_view text) {
  ScratchEntry entry;
  if (kind == "set") {
    entry.value.emplace();
  } else if (kind != "delete") {
    return fail(ErrorCode::invalid_argument, fmt::format("\"{}\" changes no scratchpad", kind));
  }
  auto read = values::read(text, std::move(entry));
  if (!read) return read;
  if (auto checked = check_scratch_key(read->key); !checked) return forward(checked);
  return read;
}

}  // namespace perdure
