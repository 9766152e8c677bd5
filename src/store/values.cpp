// Bodies, and the text by which a body refers to a blob.
//
// The reference is JSON, so that a person with a database shell sees what is
// meant; it is read back strictly, because it decides which bytes are served.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "perdure/core/json.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"

namespace perdure {

Body::Body(Codec codec, std::string bytes) : codec_(codec), bytes_(std::move(bytes)) {}

Body Body::from_text(std::string text) {
  const Codec codec = is_json(text) ? Codec::json : Codec::bytes;
  return {codec, std::move(text)};
}

Body Body::from_json(const Json& value) { return {Codec::json, value.text()}; }

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

}  // namespace perdure
