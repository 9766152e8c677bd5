// What a session has beside its messages and calls: setup, origin, children, counters, notes of its
// status, scratchpad. Their fields in JSON, and their rules.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/runtime/conversation.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "runtime/api/fields.hpp"
#include "runtime/api/records.hpp"

namespace perdure {
namespace values {

template <>
struct Shape<ToolDefinition> {
  static constexpr std::string_view name = "tool definition";
  static void fields(auto& archive, auto& tool) {
    archive.require("name");
    archive("name", tool.name);
    archive("description", tool.description);
    archive("input_schema", tool.input_schema);
  }
};

template <>
struct Shape<Setup> {
  static constexpr std::string_view name = "setup";
  static void fields(auto& archive, auto& setup) {
    archive("system_prompt", setup.system_prompt);
    archive("model", setup.model);
    archive("parameters", setup.parameters);
    archive("tools", setup.tools);
  }
};

template <>
struct Shape<Origin> {
  static constexpr std::string_view name = "origin";
  static void fields(auto& archive, auto& origin) {
    archive.require("root");
    archive("root", origin.root);
    archive("nonce", origin.nonce);
    archive("agent_digest", origin.agent_digest);
  }
};

template <>
struct Shape<AgentChange> {
  static constexpr std::string_view name = "change of agent";
  static void fields(auto& archive, auto& change) {
    archive.require("agent_digest");
    archive("agent_digest", change.agent_digest);
    archive("parts", change.parts);
    archive("who", change.who);
  }
};

template <>
struct Shape<ChildSpawn> {
  static constexpr std::string_view name = "spawn";
  static void fields(auto& archive, auto& spawn) {
    archive.require("child", "root");
    archive("child", spawn.child);
    archive("root", spawn.root);
    archive("nonce", spawn.nonce);
    archive("agent_digest", spawn.agent_digest);
    archive("limit_micros", spawn.limit_micros);
    archive.expect(spawn.limit_micros.value_or(0) >= 0, "limit_micros", "at least 0");
    archive("setup", spawn.setup);
  }
};

template <>
struct Shape<ChildEnd> {
  static constexpr std::string_view name = "end of a child";
  static void fields(auto& archive, auto& end) {
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
};

template <>
struct Shape<Counters> {
  static constexpr std::string_view name = "set of counters";
  static void fields(auto& archive, auto& counters) {
    archive.require("counters");
    archive("counters", counters.values);
  }
};

template <>
struct Shape<StatusNote> {
  static constexpr std::string_view name = "change of status";
  static void fields(auto& archive, auto& note) {
    archive("who", note.who);
    archive("why", note.why);
  }
};

template <>
struct Shape<ScratchEntry> {
  static constexpr std::string_view name = "scratchpad entry";
  static void fields(auto& archive, auto& entry) {
    archive.require("key");
    archive("key", entry.key);
    if (entry.value) value(archive, *entry.value);
    archive.sparse("by", entry.by);
  }

 private:
  static void choose(const Writer& /*archive*/, const ScratchValue& /*value*/) {}
  static void choose(const Reader& archive, ScratchValue& value) {
    if (archive.has("blob")) value = BlobRef{};
  }

  static void value(auto& archive, auto& value) {
    choose(archive, value);
    if (auto* ref = std::get_if<BlobRef>(&value)) {
      archive.require("size");
      archive("blob", ref->digest);
      archive("size", ref->size);
    } else {
      archive.require("text");
      archive("text", std::get<std::string>(value));
    }
  }
};

}  // namespace values

namespace {

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
