// Noticing that something was written, here or by another process.
//
// What this store object writes, it knows. For the others there are two sequences: one that rises
// within every write, and one that a thread of each writer raises after its writes were committed,
// for all of a while at once, off the way of the commits. Those who wait go by the second, and by
// NOTIFY, which comes with it and is only a hint: they look every so often anyway. A writer that
// died before it could tell shows in the first.

#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "core/api/own_process.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/time.hpp"
#include "postgres/client/client.hpp"
#include "postgres/client/connection.hpp"

namespace perdure::postgres {

class Watcher {
 public:
  /// `client` must outlive this. `notify`: send and receive NOTIFY too.
  Watcher(Client& client, bool notify) : client_(client), notify_(notify), hears_(notify) {}
  ~Watcher();
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  /// This store object wrote something.
  void note_write();
  /// As Store::wait_for_change. Without a timeout, a write that is not committed yet counts too;
  /// when it is, it counts again.
  Result<std::uint64_t> wait(std::uint64_t since, Duration timeout);

 private:
  /// What the two sequences say.
  struct Look {
    std::int64_t begun = -1;
    std::int64_t told = -1;
  };

  /// `early`: a write that may not be committed yet counts too; when it is, it counts again.
  [[nodiscard]] Result<void> look(bool early);
  [[nodiscard]] bool is_news(const Look& look, bool early);
  /// The listener's thread, while a caller waits.
  void listen();
  /// Sleeps until there is a reason to look. False: no caller waits any more.
  bool doze(std::unique_ptr<Connection>& connection);
  [[nodiscard]] std::unique_ptr<Connection> connect();
  /// The teller's thread.
  void tell();
  void tell_server();
  [[nodiscard]] std::string channel() const;

  const OwnProcess process_;
  Client& client_;
  const bool notify_;
  bool hears_;  ///< The listener's: false once it met a pooler, behind which there is no LISTEN.

  std::mutex looking_;  ///< One look at a time; taken before `mutex_`.
  Look last_{};
  std::optional<Uptime> untold_since_{};  ///< Since when there is an unannounced write.

  std::mutex mutex_;
  std::condition_variable changed_;
  std::condition_variable woken_;  ///< For both threads.
  std::uint64_t number_ = 0;
  int waiting_ = 0;
  bool has_news_ = false;  ///< For the teller.
  bool stopping_ = false;
  std::thread listener_;
  std::thread teller_;
};

}  // namespace perdure::postgres
