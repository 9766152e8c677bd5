// Times: every text that is a time, and every time, reads back as the same moment.

#include "perdure/core/time.hpp"

#include "core/api/text.hpp"
#include "target.hpp"

using perdure::fuzz::expect;
using perdure::fuzz::Input;

namespace {

void reread(perdure::Timestamp time) {
  const auto again = perdure::timestamp_from_iso8601(perdure::to_iso8601(time));
  expect(again == time, "every time has a text that reads back as it");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  if (const auto time = perdure::timestamp_from_iso8601(input.rest())) reread(*time);
  reread(perdure::Timestamp(perdure::Duration(static_cast<std::int64_t>(input.number(8)))));
  return 0;
}
