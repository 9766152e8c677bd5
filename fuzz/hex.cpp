// Digests as text, and the words that stand in files: each reads back as what it says.

#include <algorithm>
#include <cctype>
#include <string>

#include "core/api/text.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/sessions.hpp"
#include "store/api/lookup.hpp"
#include "target.hpp"

using perdure::fuzz::expect;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (const auto digest = perdure::digest_from_hex(text)) {
    std::string lower = text;
    std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
    expect(perdure::to_hex(*digest) == lower, "a digest is its hexadecimal text");
  }
  if (const auto status = perdure::status_from(text)) {
    expect(perdure::to_string(*status) == text, "a status is its word");
  }
  if (const auto state = perdure::call_state_from(text)) {
    expect(perdure::to_string(*state) == text, "a call's state is its word");
  }
  if (const auto effect = perdure::effect_class_from(text)) {
    expect(perdure::to_string(*effect) == text, "an effect class is its word");
  }
  return 0;
}
