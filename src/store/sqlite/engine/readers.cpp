// A connection that met an error is not given back: the next reader starts clean.

#include "sqlite/engine/readers.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace perdure::sqlite {
namespace {

constexpr std::size_t idle_max = 8;

}  // namespace

Readers::Readers(std::string path, std::string vfs, std::atomic<std::uint64_t>* rows_read)
    : path_(std::move(path)), vfs_(std::move(vfs)), rows_read_(rows_read) {}

Readers::Snapshot::~Snapshot() {
  if (!connection_.is_idle())
    sqlite3_exec(connection_.handle(), "COMMIT", nullptr, nullptr, nullptr);
}

std::unique_ptr<Connection> Readers::open() const {
  auto connection = std::make_unique<Connection>(
      path_, vfs_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, rows_read_);
  connection->execute("PRAGMA query_only = ON;");
  if (tolerant_) connection->execute("PRAGMA writable_schema = ON;");
  return connection;
}

std::unique_ptr<Connection> Readers::take() {
  {
    const std::scoped_lock lock(mutex_);
    if (!idle_.empty()) {
      auto connection = std::move(idle_.back());
      idle_.pop_back();
      return connection;
    }
  }
  return open();
}

void Readers::give_back(std::unique_ptr<Connection> connection) {
  const std::scoped_lock lock(mutex_);
  if (idle_.size() < idle_max) idle_.push_back(std::move(connection));
}

}  // namespace perdure::sqlite
