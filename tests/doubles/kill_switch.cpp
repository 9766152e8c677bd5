// A proxy in the process that it is to end: where one dies, so does the other.

#include "doubles/kill_switch.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "doubles/counting_vfs.hpp"
#include "doubles/pg_proxy.hpp"
#include "doubles/pg_script.hpp"
#include "perdure/core/error.hpp"
#include "perdure/store/store.hpp"
#include "store/sqlite/sqlite_store.hpp"

namespace perdure {
namespace {

constexpr std::string_view host = "@127.0.0.1:";

PgPlace place_of(Moment moment) {
  switch (moment) {
    case Moment::before:
      return PgPlace::before_request;
    case Moment::during:
      return PgPlace::before_sync;
    case Moment::after:
      break;
  }
  return PgPlace::after_reply;
}

}  // namespace

Result<std::unique_ptr<Store>> KillSwitch::open(const std::string& location, OpenOptions options) {
  const std::size_t found = location.find(host);
  if (found == std::string::npos) {
    vfs_ = std::make_unique<CountingVfs>("kill switch of " + location);
    vfs_->skip_syncs();
    vfs_->kill_at(write_, moment_);
    const std::string path = location.substr(location.starts_with("sqlite:") ? 7 : 0);
    return sqlite::open_sqlite(
        {.location = location, .path = path, .open = options, .vfs = vfs_->name()});
  }
  const std::size_t port = found + host.size();
  const std::size_t end = location.find('/', port);
  proxy_ = std::make_unique<PgProxy>(
      static_cast<std::uint16_t>(std::stoi(location.substr(port, end - port))));
  if (write_ > 0) proxy_->plan({.at = place_of(moment_), .deed = PgDeed::kill, .nth = write_});
  options.durability = Durability::process;
  return open_store(
      location.substr(0, port) + std::to_string(proxy_->port()) + location.substr(end), options);
}

std::uint64_t KillSwitch::writes() const {
  if (proxy_) return proxy_->counts().round_trips;
  return vfs_ ? vfs_->write_calls() : 0;
}

}  // namespace perdure
