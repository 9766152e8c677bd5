// The HTTP that a bank on loopback needs; curl works with it, too. One request per connection.

#pragma once

#include <functional>
#include <optional>
#include <string>

namespace refund_desk {

struct Request {
  std::string method{};
  std::string path{};
  std::string body{};
};

struct Reply {
  int status = 200;
  std::string body{};
};

/// Listens on a free port of loopback.
class Listener {
 public:
  Listener();
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  /// 0 if no port is available.
  [[nodiscard]] int port() const { return port_; }
  /// Answers one request after the other, until the process ends.
  void serve(const std::function<Reply(const Request&)>& answer) const;

 private:
  int socket_ = -1;
  int port_ = 0;
};

enum class Sent { no, perhaps };

/// The outcome of a request to a server on loopback.
struct Exchange {
  Sent sent = Sent::no;  ///< `no`: no server was listening.
  std::optional<Reply> reply{};
};

[[nodiscard]] Exchange ask(int port, const Request& request);

}  // namespace refund_desk
