// A client that sends half a request gets a few seconds, then the connection is closed.

#include "http.hpp"

#include <arpa/inet.h>
#include <array>
#include <cstdlib>
#include <functional>
#include <netinet/in.h>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

namespace refund_desk {

namespace {

constexpr std::size_t message_bytes_max = 65536;

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  return address;
}

void set_patience(int socket) {
  const timeval patience{.tv_sec = 10, .tv_usec = 0};
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
}

bool send_all(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

std::size_t body_bytes(const std::string& head) {
  constexpr std::string_view name = "\r\nContent-Length: ";
  const std::size_t at = head.find(name);
  if (at == std::string::npos) return 0;
  return std::strtoul(head.c_str() + at + name.size(), nullptr, 10);
}

/// Head and body; empty if the request is incomplete.
std::optional<std::pair<std::string, std::string>> receive(int socket) {
  std::string text;
  std::array<char, 4096> piece{};
  while (text.size() < message_bytes_max) {
    const std::size_t end = text.find("\r\n\r\n");
    if (end != std::string::npos) {
      const std::string head = text.substr(0, end);
      const std::size_t size = body_bytes(head);
      if (text.size() >= end + 4 + size) return std::pair(head, text.substr(end + 4, size));
    }
    const ssize_t got = ::recv(socket, piece.data(), piece.size(), 0);
    if (got <= 0) return std::nullopt;
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
  return std::nullopt;
}

std::string with_body(const std::string& first_line, const std::string& body) {
  return first_line +
         "\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: " +
         std::to_string(body.size()) + "\r\n\r\n" + body;
}

}  // namespace

Listener::Listener() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  auto* const general = reinterpret_cast<sockaddr*>(&address);
  if (::bind(socket_, general, size) != 0 || ::listen(socket_, 16) != 0) return;
  if (::getsockname(socket_, general, &size) == 0) port_ = ntohs(address.sin_port);
}

Listener::~Listener() { ::close(socket_); }

void Listener::serve(const std::function<Reply(const Request&)>& answer) const {
  while (true) {
    const int client = ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) continue;
    set_patience(client);
    if (const auto message = receive(client)) {
      Request request{.body = message->second};
      std::istringstream(message->first) >> request.method >> request.path;
      const Reply reply = answer(request);
      send_all(client, with_body("HTTP/1.0 " + std::to_string(reply.status) + " -", reply.body));
    }
    ::close(client);
  }
}

Exchange ask(int port, const Request& request) {
  Exchange exchange;
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  set_patience(socket);
  const sockaddr_in address = loopback(port);
  if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    exchange.sent = Sent::perhaps;
    const std::string text =
        with_body(request.method + " " + request.path + " HTTP/1.0", request.body);
    if (send_all(socket, text)) {
      if (const auto message = receive(socket)) {
        std::string version;
        Reply reply{.status = 0, .body = message->second};
        std::istringstream(message->first) >> version >> reply.status;
        exchange.reply = reply;
      }
    }
  }
  ::close(socket);
  return exchange;
}

}  // namespace refund_desk
