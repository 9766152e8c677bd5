// A store of a test's own whose connections go through a proxy.

#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "doubles/must.hpp"
#include "doubles/pg_proxy.hpp"
#include "doubles/postgres_cluster.hpp"
#include "perdure/core/id.hpp"
#include "perdure/store/store.hpp"

namespace perdure {

struct Proxied {
  /// Where the store is for those who go through the proxy: "pool=1&notify=off".
  [[nodiscard]] std::string location(const std::string& options = "notify=off") const {
    return "postgres://perdure@127.0.0.1:" + std::to_string(proxy.port()) +
           "/postgres?schema=" + schema.name() + "&" + options;
  }
  [[nodiscard]] std::unique_ptr<Store> open(const OpenOptions& options = {}) const {
    return must(open_store(location(), options));
  }
  /// A store object for a look that the proxy knows nothing of.
  [[nodiscard]] std::unique_ptr<Store> look(const OpenOptions& options = {}) const {
    return must(open_store(schema.location(), options));
  }

  const PostgresSchema schema;
  PgProxy proxy{static_cast<std::uint16_t>(std::stoi(cluster().one("SHOW port")))};
};

/// A statement whose text has these words is a commit.
inline constexpr const char* commit_words = ".commit(";

/// A worker of the store, and a session that it owns.
[[nodiscard]] inline Lease own_session(Store& store, const std::string& name) {
  const auto worker = WorkerId::parse("worker of " + name).value();
  const auto session = SessionId::parse(name).value();
  must(store.ownership().enroll({.id = worker, .host = "here", .pid = 1}));
  must(store.sessions().create({.id = session}));
  return must(store.ownership().acquire(session, worker));
}

}  // namespace perdure
