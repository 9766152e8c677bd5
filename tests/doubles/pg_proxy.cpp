// The port is bound twice: one socket keeps it, one listens. So it can refuse clients and admit
// them again without losing its port to another program.

#include "doubles/pg_proxy.hpp"

#include <array>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <mutex>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string>
#include <string_view>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

#include "doubles/pg_link.hpp"
#include "world/socket.hpp"

namespace perdure {
namespace {

using world::Socket;

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

void must_work(int code, const char* what) {
  if (code < 0) throw std::system_error(errno, std::generic_category(), what);
}

Socket open_socket() {
  Socket made(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  must_work(made.descriptor(), "no socket");
  return made;
}

Socket bind_to(std::uint16_t port) {
  Socket bound = open_socket();
  const int yes = 1;
  must_work(setsockopt(bound.descriptor(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes), "reuse");
  const sockaddr_in address = loopback(port);
  must_work(bind(bound.descriptor(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
            "no port");
  return bound;
}

std::uint16_t port_of(const Socket& bound) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  must_work(getsockname(bound.descriptor(), reinterpret_cast<sockaddr*>(&address), &size),
            "no name");
  return ntohs(address.sin_port);
}

// A request and its sync must not wait for each other's acknowledgement.
void send_at_once(const Socket& socket) {
  const int yes = 1;
  (void)setsockopt(socket.descriptor(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

}  // namespace

PgProxy::PgProxy(std::uint16_t server_port)
    : reserved_(bind_to(0)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      port_(port_of(reserved_)),
      server_port_(server_port) {
  listen();
  thread_ = std::jthread([this] { run(); });
}

PgProxy::~PgProxy() {
  script_.end();
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = write(wake_.descriptor(), &one, sizeof one);
  thread_.join();
  links_.clear();
}

void PgProxy::turn_to(std::uint16_t server_port) {
  const std::lock_guard lock(mutex_);
  server_port_ = server_port;
}

void PgProxy::refuse() {
  const std::lock_guard lock(mutex_);
  if (!listener_) return;
  // Closing is not enough: the thread that waits for it would keep it open.
  shutdown(listener_->descriptor(), SHUT_RDWR);
  listener_.reset();
}

void PgProxy::admit() {
  const std::lock_guard lock(mutex_);
  if (!listener_) listen();
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = write(wake_.descriptor(), &one, sizeof one);
}

void PgProxy::cut_all() {
  const std::lock_guard lock(mutex_);
  for (const auto& link : links_) link->cut();
  links_.clear();
}

std::uint64_t PgProxy::count_of(std::string_view words) const {
  std::uint64_t count = 0;
  for (const auto& [text, times] : script_.texts()) {
    if (text.find(words) != std::string::npos) count += times;
  }
  return count;
}

void PgProxy::listen() {
  Socket listener = bind_to(port_);
  must_work(::listen(listener.descriptor(), SOMAXCONN), "cannot listen");
  listener_ = std::move(listener);
}

// A listener that is replaced meanwhile wakes us, or shows as an error of the old one.
void PgProxy::run() {
  for (;;) {
    std::array<pollfd, 2> ways{pollfd{.fd = -1, .events = POLLIN, .revents = 0},
                               pollfd{.fd = wake_.descriptor(), .events = POLLIN, .revents = 0}};
    {
      const std::lock_guard lock(mutex_);
      if (is_over_) return;
      if (listener_) ways[0].fd = listener_->descriptor();
    }
    (void)poll(ways.data(), ways.size(), -1);
    std::uint64_t count = 0;
    [[maybe_unused]] const auto got = read(wake_.descriptor(), &count, sizeof count);
    if (ways[0].revents != 0) take_in();
  }
}

void PgProxy::take_in() {
  script_.pass(false);
  const std::lock_guard lock(mutex_);
  std::erase_if(links_, [](const auto& link) { return link->is_over(); });
  if (!listener_) return;
  Socket client(accept4(listener_->descriptor(), nullptr, nullptr, SOCK_CLOEXEC));
  if (client.descriptor() < 0) return;
  Socket server = open_socket();
  const sockaddr_in address = loopback(server_port_);
  // Nobody there: the client finds its connection closed at once.
  if (connect(server.descriptor(), reinterpret_cast<const sockaddr*>(&address), sizeof address) < 0)
    return;
  send_at_once(client);
  send_at_once(server);
  links_.push_back(std::make_unique<PgLink>(script_, std::move(client), std::move(server)));
}

}  // namespace perdure
