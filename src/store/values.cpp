// The values of the store: bodies, totals, summaries, and the names of enumerators.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/api/text.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/upkeep.hpp"
#include "store/api/lookup.hpp"

namespace perdure {

// Bodies, and the text by which a body refers to a blob.
//
// The reference is JSON, so that a person with a database shell sees what is
// meant; it is read back strictly, because it decides which bytes are served.

Body::Body(Codec codec, std::string bytes) : codec_(codec), bytes_(std::move(bytes)) {}

Body Body::from_text(std::string text) {
  const Codec codec = is_json(text) ? Codec::json : Codec::bytes;
  return {codec, std::move(text)};
}

Body Body::from_bytes(std::string bytes) { return {Codec::bytes, std::move(bytes)}; }

Body Body::from_blob(const BlobRef& ref) {
  const Json reference(Json::Object{{"blob", to_hex(ref.digest)}, {"bytes", ref.size}});
  return {Codec::blob, reference.text()};
}

Body Body::from_stored(Codec codec, std::string bytes) { return {codec, std::move(bytes)}; }

std::optional<BlobRef> Body::blob() const {
  if (codec_ != Codec::blob) return std::nullopt;
  const auto reference = parse_json(bytes_);
  if (!reference) return std::nullopt;
  const Json* name = reference->find("blob");
  const Json* bytes = reference->find("bytes");
  if (name == nullptr || bytes == nullptr || name->as_string() == nullptr) return std::nullopt;
  const auto digest = digest_from_hex(*name->as_string());
  const auto size = bytes->as_uint64();
  if (!digest || !size) return std::nullopt;
  return BlobRef{*digest, *size};
}

// What follows from a session's summary row, and how totals add up.

namespace {

// What a store accepts never runs over; what is read from a damaged one may, and then wraps.
void add(std::int64_t& total, std::int64_t number) {
  total = static_cast<std::int64_t>(static_cast<std::uint64_t>(total) +
                                    static_cast<std::uint64_t>(number));
}

}  // namespace

Tally& Tally::operator+=(const Tally& other) {
  add(turns, other.turns);
  add(steps, other.steps);
  add(tokens_in, other.tokens_in);
  add(tokens_out, other.tokens_out);
  add(cost_micros, other.cost_micros);
  return *this;
}

bool SessionSummary::needs_attention() const {
  return moved_to.empty() && (attention > 0 || restored);
}

bool SessionSummary::is_interrupted() const {
  return status == Status::active && moved_to.empty() && !(holder && holder->alive);
}

// The words of the store's enums, as people, database files and other languages
// see them. A word never changes once a store was written with it.

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
