// A network that fails where a test says so: stands between PostgreSQL and its clients on the
// loopback, understands enough of their protocol to count round trips, and cuts, holds or delays
// them. Without encryption, which it declines in the server's name.

#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "doubles/pg_link.hpp"
#include "doubles/pg_script.hpp"
#include "perdure/core/time.hpp"
#include "world/socket.hpp"

namespace perdure {

class PgProxy {
 public:
  /// In front of a server of this machine; one that is not there may come later.
  explicit PgProxy(std::uint16_t server_port);
  ~PgProxy();
  PgProxy(const PgProxy&) = delete;
  PgProxy& operator=(const PgProxy&) = delete;

  /// Where clients find it, on 127.0.0.1.
  [[nodiscard]] std::uint16_t port() const { return port_; }
  /// Another server from now on, for new connections.
  void turn_to(std::uint16_t server_port);

  /// What is to happen to a round trip to come. Each plan happens once.
  void plan(PgPlan plan) { script_.plan(std::move(plan)); }
  void forget_plans() { script_.forget_plans(); }
  /// False: not all that was planned has happened in that time.
  [[nodiscard]] bool wait_for_plans(Duration timeout = std::chrono::minutes(5)) {
    return script_.wait_for_plans(timeout);
  }
  [[nodiscard]] bool wait_until(const std::function<bool(const PgCounts&)>& is_so,
                                Duration timeout = std::chrono::minutes(5)) {
    return script_.wait_until(is_so, timeout);
  }
  /// The server's process behind the connection that is being held.
  [[nodiscard]] std::optional<std::int32_t> held_backend() const { return script_.held_backend(); }

  /// Round trips that run a statement with these words are not counted.
  void ignore(std::string words) { script_.ignore(std::move(words)); }
  /// Every reply comes so much later.
  void delay(Duration by) { script_.set_delay(by); }
  /// A black hole: connections stay open, new ones too, and nothing gets through.
  void pause() { script_.pause(); }
  /// Ends a pause and every hold.
  void go_on() { script_.go_on(); }
  /// Nobody listens at the port any more; open connections stay.
  void refuse();
  void admit();
  /// Cuts all connections there are, and returns when they are. None may be held or paused.
  void cut_all();

  [[nodiscard]] PgCounts counts() const { return script_.counts(); }
  /// How often statements with these words were run.
  [[nodiscard]] std::uint64_t count_of(std::string_view words) const;

 private:
  void listen();
  void run();
  void take_in();

  PgScript script_;
  world::Socket reserved_;  ///< Keeps the port ours while nobody listens.
  world::Socket wake_;
  std::uint16_t port_ = 0;
  std::mutex mutex_;
  std::uint16_t server_port_;
  std::optional<world::Socket> listener_;
  std::vector<std::unique_ptr<PgLink>> links_;
  bool is_over_ = false;
  std::jthread thread_;
};

}  // namespace perdure
