// The bytes of a blob, piece by piece: a blob may be larger than what one wants in memory.

#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "sqlite/connection.hpp"

namespace perdure::sqlite {

class BlobReader {
 public:
  /// The blob in row `number`. It must go before the connection does.
  BlobReader(Connection& db, std::int64_t number);

  [[nodiscard]] std::uint64_t size() const;
  /// Both within the size.
  [[nodiscard]] std::string read(std::uint64_t offset, std::uint64_t count);

 private:
  struct Closer {
    void operator()(sqlite3_blob* blob) const { sqlite3_blob_close(blob); }
  };

  Connection& db_;
  std::unique_ptr<sqlite3_blob, Closer> blob_;
};

}  // namespace perdure::sqlite
