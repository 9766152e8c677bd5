// A thread that cannot be started is done without: waiting then ends with its timeout, and others
// look by themselves.

#include "postgres/client/watcher.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <fmt/format.h>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "perdure/core/error.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"
#include "postgres/client/client.hpp"
#include "postgres/client/connection.hpp"
#include "postgres/client/error.hpp"
#include "postgres/client/params.hpp"

namespace perdure::postgres {
namespace {

using namespace std::chrono_literals;

constexpr Duration look_every_when_told = 1s;
constexpr Duration look_every_untold = 100ms;
/// How soon a thread that waits for the server notices that it is to stop.
constexpr Duration wait_slice = 50ms;
/// Writes of this long are announced together.
constexpr Duration tell_every = 20ms;
/// After this long an unannounced write counts all the same: its writer may have died.
constexpr Duration tell_late = 1s;
constexpr Duration longest_wait = 24h;
/// LISTEN cuts a longer name off, and NOTIFY refuses it.
constexpr std::size_t channel_bytes_max = 63;

}  // namespace

Watcher::~Watcher() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  woken_.notify_all();
  if (listener_.joinable()) listener_.join();
  if (teller_.joinable()) teller_.join();
}

void Watcher::note_write() {
  bool is_first = false;
  {
    const std::scoped_lock lock(mutex_);
    ++number_;
    is_first = !std::exchange(has_news_, true);
    if (is_first && !teller_.joinable() && !stopping_) {
      try {
        teller_ = std::thread(&Watcher::tell, this);
      } catch (const std::system_error&) {
        has_news_ = false;
      }
    }
  }
  changed_.notify_all();
  if (is_first) woken_.notify_all();
}

Result<std::uint64_t> Watcher::wait(std::uint64_t since, Duration timeout) {
  if (auto here = process_.check(); !here) return forward(here);
  if (auto looked = look(timeout <= Duration(0)); !looked) return forward(looked);
  std::unique_lock lock(mutex_);
  if (number_ > since || timeout <= Duration(0)) return number_;
  if (!listener_.joinable()) {
    try {
      listener_ = std::thread(&Watcher::listen, this);
    } catch (const std::system_error& error) {
      return fail(ErrorCode::unavailable, fmt::format("cannot start a thread: {}", error.what()));
    }
  }
  ++waiting_;
  woken_.notify_all();
  changed_.wait_for(lock, std::min(timeout, longest_wait), [&] { return number_ > since; });
  --waiting_;
  return number_;
}

Result<void> Watcher::look(bool early) {
  const std::scoped_lock looking(looking_);
  auto look = client_.read([](Connection& db) -> Result<Look> {
    // The first value of a sequence shows before it was taken.
    Rows rows = db.query(
        "SELECT b.last_value + b.is_called::int, t.last_value + t.is_called::int "
        "FROM perdure.begun b CROSS JOIN perdure.told t");
    rows.next();
    return Look{.begun = rows.integer(0), .told = rows.integer(1)};
  });
  if (!look) return forward(look);
  if (!is_news(*look, early)) return {};
  last_ = *look;
  untold_since_.reset();
  {
    const std::scoped_lock lock(mutex_);
    ++number_;
  }
  changed_.notify_all();
  return {};
}

bool Watcher::is_news(const Look& look, bool early) {
  if (look.told != last_.told) return true;
  if (look.begun == last_.begun) return false;
  const Uptime now = system_clock().uptime();
  if (!untold_since_) untold_since_ = now;
  return early || now - *untold_since_ >= tell_late;
}

void Watcher::listen() {
  std::unique_ptr<Connection> connection;
  while (true) {
    {
      std::unique_lock lock(mutex_);
      woken_.wait(lock, [&] { return stopping_ || waiting_ > 0; });
      if (stopping_) return;
    }
    if (!connection) connection = connect();
    // Writes before it listened were not announced to it.
    [[maybe_unused]] auto looked = look(false);
    while (doze(connection)) looked = look(false);
  }
}

std::unique_ptr<Connection> Watcher::connect() {
  if (!hears_) return nullptr;
  auto connection = client_.connect();
  if (!connection) return nullptr;
  if ((*connection)->is_pooled()) {
    hears_ = false;
    return nullptr;
  }
  try {
    (*connection)->execute(fmt::format("LISTEN {}", quoted_name(channel())));
  } catch (const PgError&) {
    return nullptr;
  }
  return *std::move(connection);
}

bool Watcher::doze(std::unique_ptr<Connection>& connection) {
  const auto has_end = [&] { return stopping_ || waiting_ == 0; };
  Duration left = connection ? look_every_when_told : look_every_untold;
  while (left > Duration(0)) {
    const Duration part = std::min(left, wait_slice);
    left -= part;
    bool is_told = false;
    try {
      is_told = connection && connection->wait_for_notification(part);
    } catch (const PgError&) {
      connection.reset();
      is_told = true;
    }
    std::unique_lock lock(mutex_);
    if (!connection) woken_.wait_for(lock, part, has_end);
    if (has_end()) return false;
    if (is_told) return true;
  }
  return true;
}

void Watcher::tell() {
  std::unique_lock lock(mutex_);
  while (true) {
    woken_.wait(lock, [&] { return stopping_ || has_news_; });
    if (!has_news_) return;
    has_news_ = false;
    lock.unlock();
    tell_server();
    lock.lock();
    woken_.wait_for(lock, tell_every, [&] { return stopping_; });
  }
}

// A hint: if it is lost, others look a little later. Our own is not news to us.
void Watcher::tell_server() {
  std::optional<std::string> name;
  if (notify_) name = channel();
  const std::scoped_lock looking(looking_);
  const auto told = client_.read([&](Connection& db) -> Result<std::int64_t> {
    Rows rows = db.query("SELECT perdure.tell($1)", Params::of(name));
    rows.next();
    return rows.integer(0);
  });
  // A look counts from one more, because of the value that is not taken yet.
  if (told && *told == last_.told) last_.told = *told + 1;
}

std::string Watcher::channel() const {
  const std::string& schema = client_.address().schema;
  std::string name = fmt::format("perdure:{}", schema);
  if (name.size() <= channel_bytes_max) return name;
  return fmt::format("perdure:{}", to_hex(sha256(schema))).substr(0, channel_bytes_max);
}

}  // namespace perdure::postgres
