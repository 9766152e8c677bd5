// The words of the store's enums, as people, database files and other languages
// see them. A word never changes once a store was written with it.

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "perdure/core/id.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/upkeep.hpp"
#include "store/api/lookup.hpp"

namespace perdure {

namespace {

template <class Enum, std::size_t size>
using Words = std::array<std::pair<Enum, std::string_view>, size>;

constexpr Words<Status, 6> status_words = {{
    {Status::active, "active"},
    {Status::waiting, "waiting"},
    {Status::paused, "paused"},
    {Status::completed, "completed"},
    {Status::failed, "failed"},
    {Status::cancelled, "cancelled"},
}};

constexpr Words<CallState, 8> call_state_words = {{
    {CallState::intended, "intended"},
    {CallState::dispatched, "dispatched"},
    {CallState::succeeded, "succeeded"},
    {CallState::failed, "failed"},
    {CallState::in_doubt, "in_doubt"},
    {CallState::abandoned, "abandoned"},
    {CallState::denied, "denied"},
    {CallState::cancelled, "cancelled"},
}};

constexpr Words<EffectClass, 4> effect_class_words = {{
    {EffectClass::read_only, "read_only"},
    {EffectClass::idempotent, "idempotent"},
    {EffectClass::verifiable, "verifiable"},
    {EffectClass::unsafe, "unsafe"},
}};

constexpr Words<Fault, 6> fault_words = {{
    {Fault::file, "file"},
    {Fault::chain, "chain"},
    {Fault::order, "order"},
    {Fault::reference, "reference"},
    {Fault::ledger, "ledger"},
    {Fault::summary, "summary"},
}};

constexpr Words<Gravity, 3> gravity_words = {{
    {Gravity::fine, "fine"},
    {Gravity::warning, "warning"},
    {Gravity::danger, "danger"},
}};

template <class Enum, std::size_t size>
std::string_view word_of(const Words<Enum, size>& words, Enum value) {
  for (const auto& [candidate, word] : words) {
    if (candidate == value) return word;
  }
  return "unknown";
}

template <class Enum, std::size_t size>
std::optional<Enum> value_of(const Words<Enum, size>& words, std::string_view text) {
  for (const auto& [value, word] : words) {
    if (word == text) return value;
  }
  return std::nullopt;
}

}  // namespace

std::string_view to_string(Status status) { return word_of(status_words, status); }

std::optional<Status> status_from(std::string_view text) { return value_of(status_words, text); }

std::string_view to_string(CallState state) { return word_of(call_state_words, state); }

std::optional<CallState> call_state_from(std::string_view text) {
  return value_of(call_state_words, text);
}

std::string_view to_string(EffectClass effect) { return word_of(effect_class_words, effect); }

std::optional<EffectClass> effect_class_from(std::string_view text) {
  return value_of(effect_class_words, text);
}

std::string_view to_string(Fault fault) { return word_of(fault_words, fault); }

std::string_view to_string(Gravity gravity) { return word_of(gravity_words, gravity); }

std::string call_name(const SessionId& session, Position position) {
  return session.text() + ":" + std::to_string(position);
}

}  // namespace perdure
