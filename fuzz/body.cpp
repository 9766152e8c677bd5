// Stored bodies: bytes are kept whatever the label says, and a reference to a blob reads
// back or not at all.

#include <string>

#include "perdure/store/log.hpp"
#include "target.hpp"

using perdure::Body;
using perdure::Codec;
using perdure::fuzz::expect;
using perdure::fuzz::Input;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  // Any number: the label comes from a file.
  const auto codec = static_cast<Codec>(input.number(1));
  const std::string bytes(input.rest());

  const Body stored = Body::from_stored(codec, bytes);
  expect(stored.codec() == codec && stored.bytes() == bytes, "a stored body is what was stored");
  if (const auto ref = stored.blob()) {
    expect(codec == Codec::blob, "only a blob body has a reference");
    expect(Body::from_blob(*ref).blob() == ref, "a reference reads back");
  }
  const Body text = Body::from_text(bytes);
  expect(text.bytes() == bytes, "a text is kept as it is");
  expect(text.codec() == Codec::json || text.codec() == Codec::bytes, "a text is no reference");
  return 0;
}
