// A connection that met an error is not given back: the next reader starts clean.

#include "sqlite/engine/readers.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "core/api/deadline.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/time.hpp"
#include "sqlite/engine/connection.hpp"

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

// `PRAGMA data_version` changes exactly when another connection committed, and this
// connection never writes: so it counts every commit of every process, our own
// writer's included.

Result<std::uint64_t> Watcher::wait(std::uint64_t since, Duration timeout) {
  constexpr Duration look_every = std::chrono::milliseconds(20);
  if (auto here = process_.check(); !here) return forward(here);
  std::unique_lock lock(mutex_);
  const Deadline deadline(timeout);
  for (bool is_first = true;; is_first = false) {
    const Duration left = deadline.left();
    // What fails in between may pass, such as a look while another process recovers the WAL.
    auto looked = look(lock);
    if (!looked && (is_first || left == Duration(0))) return forward(looked);
    if (number_ > since || left == Duration(0)) return number_;
    changed_.wait_for(lock, std::min(left, look_every));
  }
}

Result<void> Watcher::look(const std::unique_lock<std::mutex>& /*held*/) {
  try {
    if (!connection_) connection_ = readers_.open();
    Rows rows = connection_->query("PRAGMA data_version");
    if (!rows.next() || rows.integer(0) == data_version_) return {};
    data_version_ = rows.integer(0);
  } catch (const SqliteError& error) {
    connection_.reset();
    data_version_ = 0;
    return std::unexpected(error.to_error());
  }
  ++number_;
  changed_.notify_all();
  return {};
}

}  // namespace perdure::sqlite
