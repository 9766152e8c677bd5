// What is to happen to the round trips of a proxy (pg_proxy.hpp), and what happened to them. Shared
// by the test, which plans and waits, and the connections, which ask and tell.
//
// Thread safety: every method may be called from any thread at any time.

#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "perdure/core/time.hpp"

namespace perdure {

/// Moments of one round trip, in their order.
enum class PgPlace : std::uint8_t {
  before_request,  ///< Nothing of it reaches the server.
  before_sync,     ///< The server has run the statements, and may not commit yet.
  after_results,   ///< The same, and their results reached the client all the same.
  after_request,   ///< The server is sent all of it; the client hears nothing.
  after_reply,     ///< The server has replied, so it has committed; the client hears nothing.
  within_reply,    ///< The same; the client has heard the results, but not that it is over.
};

inline constexpr PgPlace every_pg_place[] = {PgPlace::before_request, PgPlace::before_sync,
                                             PgPlace::after_results,  PgPlace::after_request,
                                             PgPlace::after_reply,    PgPlace::within_reply};

[[nodiscard]] std::string_view to_string(PgPlace place);

enum class PgDeed : std::uint8_t {
  cut,   ///< The connection ends there, for both sides.
  hold,  ///< Nothing goes on there until `go_on`.
  kill,  ///< This process ends, the proxy and whoever else is in it, by SIGKILL.
};

struct PgPlan {
  PgPlace at = PgPlace::before_request;
  PgDeed deed = PgDeed::cut;
  std::string of{};       ///< Only round trips that run a statement with these words; empty: any.
  std::string but{};      ///< And none with these words; empty: whatever they run.
  std::uint64_t nth = 1;  ///< Of those, from now on.
};

/// Since the proxy was made, over all connections; how a connection opens is not counted.
struct PgCounts {
  std::uint64_t connections = 0;
  std::uint64_t round_trips = 0;  ///< A `Sync`, or a simple query, that was answered.
  /// How often a client spoke after the server had: what the network sees of round trips, also of
  /// those that end with a `Flush`.
  std::uint64_t exchanges = 0;
  std::uint64_t statements = 0;  ///< That were run.
  std::uint64_t parses = 0;      ///< Statements that the server was given the text of.

  bool operator==(const PgCounts&) const = default;
};

class PgScript {
 public:
  // For the test.
  void plan(PgPlan plan);
  void forget_plans();
  /// Round trips that run a statement with these words are not counted.
  void ignore(std::string words);
  void set_delay(Duration delay);
  void pause();
  /// Ends a pause and every hold.
  void go_on();
  /// Waits until all that was planned has happened, or is being held.
  [[nodiscard]] bool wait_for_plans(Duration timeout);
  [[nodiscard]] bool wait_until(const std::function<bool(const PgCounts&)>& is_so,
                                Duration timeout);
  /// The server's process behind the connection that is being held.
  [[nodiscard]] std::optional<std::int32_t> held_backend() const;
  [[nodiscard]] PgCounts counts() const;
  /// How often each text was run.
  [[nodiscard]] std::map<std::string, std::uint64_t, std::less<>> texts() const;
  /// Nobody is held, delayed or stopped by a pause from now on.
  void end();

  // For connections.
  void note_connection();
  /// One round trip is about to be made: counts what it has of everything but replies.
  struct Met {
    std::optional<PgPlan> plan{};  ///< What is to happen to it.
    bool is_counted = true;
  };
  [[nodiscard]] Met meet(const std::vector<std::string>& texts, const PgCounts& has);
  void note_reply();
  /// It happened; returns when the connection may go on, at once unless it is to be held.
  void happened(const PgPlan& plan, std::int32_t backend);
  /// Returns when nothing is paused, and after the delay if it is a reply.
  void pass(bool is_reply);

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<PgPlan> plans_;
  std::uint64_t under_way_ = 0;  ///< Plans that met their round trip and have not happened.
  std::uint64_t released_ = 0;   ///< How often `go_on` was called.
  std::optional<std::int32_t> held_backend_;
  std::string ignored_;
  Duration delay_{0};
  bool is_paused_ = false;
  bool is_over_ = false;
  PgCounts counts_;
  std::map<std::string, std::uint64_t, std::less<>> texts_;
};

}  // namespace perdure
