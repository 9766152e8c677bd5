// A port of the loopback whose listener takes nobody in, and whose queue is full: who connects waits
// until they lose patience.

#pragma once

#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <netinet/in.h>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>

namespace perdure {

class FullPort {
 public:
  FullPort() : listener_(open_socket()) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    auto* const address = reinterpret_cast<sockaddr*>(&at);
    const bool good = bind(listener_, address, size) == 0 && listen(listener_, 0) == 0 &&
                      getsockname(listener_, address, &size) == 0;
    if (!good) throw std::system_error(errno, std::generic_category(), "no port to fill");
    port_ = ntohs(at.sin_port);
    for (int& waiting : waiting_) {
      waiting = open_socket();
      // It need not succeed: those who do not get into the queue show that it is full.
      static_cast<void>(connect(waiting, address, size));
    }
  }
  ~FullPort() {
    for (const int waiting : waiting_) close(waiting);
    close(listener_);
  }
  FullPort(const FullPort&) = delete;
  FullPort& operator=(const FullPort&) = delete;

  [[nodiscard]] int port() const { return port_; }

 private:
  static int open_socket() {
    const int made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (made < 0) throw std::system_error(errno, std::generic_category(), "no socket");
    return made;
  }

  int listener_;
  int port_ = 0;
  std::array<int, 4> waiting_{};
};

}  // namespace perdure
