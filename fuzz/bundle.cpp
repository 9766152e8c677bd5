// Facts of a bundle: there is one form of everything, and whatever passes the check is within the
// bounds of a store.

#include <string_view>
#include <variant>

#include "bundle/bundle_file.hpp"
#include "copy/fact_codec.hpp"
#include "rules/stored_session.hpp"
#include "target.hpp"

using namespace perdure;  // NOLINT(google-build-using-namespace): a program of its own.
using fuzz::expect;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto slice = bundle::unpack(bytes);
  if (!slice) return 0;
  expect(bundle::pack(*slice) == bytes, "what was read is packed to the same bytes");
  for (const Fact& fact : slice->facts) {
    if (!bundle::check(fact)) continue;
    const auto* entry = std::get_if<Entry>(&fact);
    if (entry == nullptr) continue;
    expect(entry->position >= 1 && entry->position <= rules::position_max,
           "a position is one that a session can have");
    expect(!entry->channel.empty(), "a channel has a name");
  }
  return 0;
}
