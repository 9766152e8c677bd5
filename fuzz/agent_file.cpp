// Agent files. Whatever the bytes are, they are an agent or there is a line and a column for what is
// wrong; the same bytes are the same agent again, and its digest says so.

#include "agent/api/agent_file.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

#include "perdure/core/error.hpp"
#include "target.hpp"

using perdure::fuzz::expect;

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const perdure::fuzz::Input input(data, size);
  const auto any_file = [](const std::filesystem::path&) -> perdure::Result<std::string> {
    return R"({"responses": []})";
  };
  const auto spec = perdure::parse_agent(input.rest(), "a.yaml", any_file);
  if (!spec) {
    expect(spec.error().code == perdure::ErrorCode::invalid_argument, "a file that is wrong");
    expect(spec.error().message.starts_with("a.yaml:"), "what is wrong has a place");
    return 0;
  }
  const auto again = perdure::parse_agent(input.rest(), "a.yaml", any_file);
  expect(again.has_value(), "what was read is read again");
  const std::string digest = perdure::agent_digest(*spec);
  expect(perdure::changed_parts(digest, perdure::agent_digest(*again)).empty(), "and is the same");
  expect(spec->budget_micros.value_or(0) >= 0, "money is never below nothing");
  return 0;
}
