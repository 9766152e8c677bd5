// Cursors: only the text that was given out is one, and it gives its mark back.

#include <string>

#include "rules/queries.hpp"
#include "target.hpp"

using namespace perdure;         // NOLINT(google-build-using-namespace): a program of its own.
using namespace perdure::rules;  // NOLINT(google-build-using-namespace)
using fuzz::expect;
using fuzz::Input;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  SessionQuery query;
  query.sort = static_cast<SessionSort>(input.number(1) % 5);
  query.descending = input.number(1) % 2 == 0;
  query.tag = std::string(input.text());

  query.cursor = std::string(input.rest());
  if (const auto mark = from_cursor(query)) {
    expect(to_cursor(query, *mark) == query.cursor, "a cursor is what was given out");
  }
  Mark mark{static_cast<std::int64_t>(input.number(8)), std::string(input.rest())};
  if (query.sort == SessionSort::title) mark.key = std::string(input.text());
  query.cursor = to_cursor(query, mark);
  const auto again = from_cursor(query);
  expect(again && *again == mark, "a cursor gives its mark back");
  return 0;
}
