// Server-sent events: the same ones, however the stream is cut into pieces; never more than there was.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/http.hpp"
#include "perdure/core/error.hpp"
#include "target.hpp"

using perdure::fuzz::expect;

namespace {

constexpr std::size_t limit = 64;

struct Read {
  std::vector<std::pair<std::string, std::string>> events;
  bool failed = false;
  bool operator==(const Read&) const = default;
};

Read read(std::string_view stream, std::size_t piece) {
  Read read;
  perdure::SseParser parser(limit);
  while (!stream.empty() && !read.failed) {
    const std::size_t size = std::min(piece, stream.size());
    const auto fed = parser.feed(stream.substr(0, size), [&](const perdure::SseEvent& event) {
      read.events.emplace_back(event.name, event.data);
      return perdure::Result<void>{};
    });
    read.failed = !fed;
    stream.remove_prefix(size);
  }
  return read;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  perdure::fuzz::Input input(data, size);
  const std::size_t piece = 1 + input.number(1) % 16;
  const std::string_view stream = input.rest();
  const Read whole = read(stream, std::max<std::size_t>(1, stream.size()));
  expect(read(stream, piece) == whole, "pieces do not matter");
  expect(read(stream, 1) == whole, "single bytes do not matter");
  std::size_t bytes = 0;
  for (const auto& [name, text] : whole.events) {
    expect(text.size() <= limit, "no event is larger than the limit");
    bytes += text.size();
  }
  expect(bytes <= stream.size(), "nothing is made up");
  return 0;
}
