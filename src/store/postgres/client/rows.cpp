// The width of a value says which whole number it is.

#include "postgres/client/rows.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <libpq-fe.h>
#include <optional>
#include <string_view>

#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"

namespace perdure::postgres {

std::string_view Rows::text(int column) const {
  return {PQgetvalue(result_.get(), row_, column),
          static_cast<std::size_t>(PQgetlength(result_.get(), row_, column))};
}

std::int64_t Rows::integer(int column) const {
  const std::string_view bytes = text(column);
  if (bytes.empty()) return 0;
  // Widened with the sign of its first bit.
  const bool is_negative = (static_cast<std::uint8_t>(bytes.front()) & 0x80) != 0;
  std::uint64_t bits = is_negative ? ~std::uint64_t{0} : 0;
  for (const char byte : bytes) bits = bits << 8 | static_cast<std::uint8_t>(byte);
  return static_cast<std::int64_t>(bits);
}

Digest Rows::digest(int column) const {
  Digest digest{};
  const std::string_view bytes = text(column);
  std::copy_n(bytes.begin(), std::min(bytes.size(), digest.size()), digest.begin());
  return digest;
}

std::optional<Timestamp> Rows::optional_time(int column) const {
  if (is_null(column)) return std::nullopt;
  return time(column);
}

}  // namespace perdure::postgres
