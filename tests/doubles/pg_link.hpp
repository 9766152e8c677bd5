// One connection through a proxy (pg_proxy.hpp): a client, its server, and a thread between them.

#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "doubles/pg_script.hpp"
#include "doubles/pg_wire.hpp"
#include "world/socket.hpp"

namespace perdure {

class PgLink {
 public:
  /// The script must outlive this.
  PgLink(PgScript& script, world::Socket client, world::Socket server);
  /// Waits for its thread: nobody may be held or paused any more.
  ~PgLink();
  PgLink(const PgLink&) = delete;
  PgLink& operator=(const PgLink&) = delete;

  /// Ends both sides; one that is held or paused, as soon as it goes on.
  void cut();
  [[nodiscard]] bool is_over() const { return is_over_; }

 private:
  struct Side {
    world::Socket socket;
    pg_wire::Frames frames{};
    std::string out{};  ///< On its way to this side.
  };
  /// A round trip that the server has not answered.
  struct Asked {
    std::optional<PgPlan> plan{};
    std::uint64_t results = 0;  ///< Still to come before the sync is sent.
    bool is_counted = true;
  };

  void run();
  bool wait();
  static bool receive(Side& side);
  static void send(Side& side);
  static void send_all(Side& side);

  void hear_client();
  void hear_startup(const pg_wire::Message& message);
  void hear_request(const pg_wire::Message& message);
  void ask();
  void hear_server();
  void hear_reply(const pg_wire::Message& message);
  void hear_result(Asked& asked);
  void hear_end(Asked& asked, const std::string& ready);
  void act(const PgPlan& plan);
  void drain();

  PgScript& script_;
  Side client_;
  Side server_;
  world::Socket wake_;
  bool has_started_ = false;
  bool is_ready_ = false;  ///< It is open, and what follows is counted.
  bool server_spoke_ = false;
  bool is_ending_ = false;
  std::int32_t backend_ = 0;
  pg_wire::Texts texts_;
  std::vector<std::string> run_;  ///< The statements of the request.
  PgCounts has_;                  ///< What else is to be counted of it.
  std::string request_;           ///< What the client said since its last sync.
  std::string sync_;              ///< Of the request whose results are waited for first.
  std::string unheard_;           ///< Replies that the client is not to hear yet.
  std::deque<Asked> asked_;
  std::atomic<bool> is_cut_ = false;
  std::atomic<bool> is_over_ = false;
  std::jthread thread_;
};

}  // namespace perdure
