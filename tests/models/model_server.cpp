// One thread a connection; each ends when its client or the server does.

#include "models/model_server.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <mutex>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <optional>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "models/behaviour.hpp"
#include "models/request_check.hpp"

namespace perdure::models {
namespace {

// False: the client is gone.
bool send_all_of(int to, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(to, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  });
  return text;
}

std::string hex(std::size_t number) {
  std::string text(16, '\0');
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number, 16).ptr;
  text.resize(static_cast<std::size_t>(end - text.data()));
  return text;
}

SeenRequest head_from(std::string_view head) {
  SeenRequest request;
  const auto first = head.substr(0, head.find("\r\n"));
  const auto space = first.find(' ');
  request.path = first.substr(space + 1, first.rfind(' ') - space - 1);
  for (std::size_t at = first.size() + 2; at < head.size();) {
    const auto line = head.substr(at, head.find("\r\n", at) - at);
    const auto colon = line.find(": ");
    if (colon != std::string_view::npos) {
      request.headers[lower(std::string(line.substr(0, colon)))] = line.substr(colon + 2);
    }
    at += line.size() + 2;
  }
  return request;
}

}  // namespace

class ModelServer::Connection {
 public:
  Connection(ModelServer& server, int socket, int number)
      : server_(server), socket_(socket), number_(number) {}

  void serve() {
    while (auto request = read_request()) {
      const int count = server_.note(*request);
      if (!answer(*request, behaviour_of(*request, count))) return;
    }
  }

 private:
  // Nothing when the client is gone.
  std::optional<SeenRequest> read_request() {
    while (buffer_.find("\r\n\r\n") == std::string::npos) {
      if (!read_more()) return std::nullopt;
    }
    const std::size_t head_end = buffer_.find("\r\n\r\n") + 4;
    SeenRequest request = head_from(std::string_view(buffer_).substr(0, head_end - 2));
    std::size_t length = 0;
    const std::string& told = request.headers["content-length"];
    std::from_chars(told.data(), told.data() + told.size(), length);
    while (buffer_.size() < head_end + length) {
      if (!read_more()) return std::nullopt;
    }
    request.body = buffer_.substr(head_end, length);
    request.connection = number_;
    buffer_.erase(0, head_end + length);
    return request;
  }

  bool read_more() {
    std::string bytes(65536, '\0');
    const ssize_t got = recv(socket_, bytes.data(), bytes.size(), 0);
    if (got <= 0) return false;
    buffer_.append(bytes, 0, static_cast<std::size_t>(got));
    return true;
  }

  void wait_for_the_end() {
    while (read_more()) {
    }
  }

  // Whether the connection is kept.
  bool answer(const SeenRequest& request, const Behaviour& behaviour) {
    if (behaviour.is_dropped) return false;
    if (behaviour.is_silent) {
      wait_for_the_end();
      return false;
    }
    if (const auto refusal = refusal_of(request)) {
      send_plain(400, *refusal, "");
      return false;
    }
    if (behaviour.status != 200 && !behaviour.repeated.empty()) {
      send_all_of(socket_,
                  "HTTP/1.1 " + std::to_string(behaviour.status) + " Told\r\n" + behaviour.headers);
      while (send_all_of(socket_, behaviour.repeated)) {
      }
      return false;
    }
    if (behaviour.status != 200) {
      send_plain(behaviour.status, behaviour.body, behaviour.headers);
      return false;
    }
    return stream(behaviour);
  }

  void send_plain(int status, const std::string& body, const std::string& headers) {
    send_all_of(socket_, "HTTP/1.1 " + std::to_string(status) +
                             " Told\r\nContent-Type: application/json\r\nrequest-id: req_9\r\n" +
                             headers + "Connection: close\r\nContent-Length: " +
                             std::to_string(body.size()) + "\r\n\r\n" + body);
  }

  bool stream(const Behaviour& behaviour) {
    const bool is_chunked = behaviour.is_chunked && !behaviour.has_length;
    std::string head = "HTTP/1.1 200 OK\r\nrequest-id: req_9\r\nx-request-id: req_9\r\n";
    if (!behaviour.type.empty()) head += "Content-Type: " + behaviour.type + "\r\n";
    if (behaviour.has_length) {
      head += "Content-Length: " + std::to_string(behaviour.body.size()) + "\r\n";
    }
    head += is_chunked ? "Transfer-Encoding: chunked\r\n" : "Connection: close\r\n";
    send_all_of(socket_, head + behaviour.headers + "\r\n");
    const auto send_piece = [&](const std::string& piece) {
      return send_all_of(socket_, is_chunked ? hex(piece.size()) + "\r\n" + piece + "\r\n" : piece);
    };
    std::string_view body = std::string_view(behaviour.body).substr(0, behaviour.bytes_max);
    while (!body.empty()) {
      const std::string piece(body.substr(0, behaviour.piece_bytes));
      body.remove_prefix(piece.size());
      send_piece(piece);
    }
    while (!behaviour.repeated.empty() && send_piece(behaviour.repeated)) {
    }
    if (behaviour.is_left_open) wait_for_the_end();
    if (!behaviour.has_end || !is_chunked) return false;
    send_all_of(socket_, "0\r\n\r\n");
    return true;
  }

  ModelServer& server_;
  int socket_;
  int number_;
  std::string buffer_;
};

ModelServer::ModelServer() {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  auto* const address = reinterpret_cast<sockaddr*>(&at);
  if (listener_ < 0 || bind(listener_, address, size) != 0 || listen(listener_, 128) != 0 ||
      getsockname(listener_, address, &size) != 0) {
    throw std::system_error(errno, std::generic_category(), "the model server cannot listen");
  }
  port_ = ntohs(at.sin_port);
  acceptor_ = std::jthread([this] { accept_all(); });
}

ModelServer::~ModelServer() {
  shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  {
    const std::lock_guard lock(mutex_);
    for (const int socket : open_) {
      if (socket >= 0) shutdown(socket, SHUT_RDWR);
    }
  }
  threads_.clear();
  close(listener_);
}

std::string ModelServer::url(const std::string& behaviour) const {
  return "http://127.0.0.1:" + std::to_string(port_) + "/" + behaviour;
}

std::vector<SeenRequest> ModelServer::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

bool ModelServer::wait_for_request() const {
  std::unique_lock lock(mutex_);
  return arrived_.wait_for(lock, std::chrono::minutes(5), [this] { return !requests_.empty(); });
}

int ModelServer::note(SeenRequest request) {
  const std::lock_guard lock(mutex_);
  const int count = ++counts_[request.path];
  requests_.push_back(std::move(request));
  arrived_.notify_all();
  return count;
}

// A thread that ended and was not joined keeps its stack.
void ModelServer::join_ended() {
  while (joined_ < open_.size() && open_[joined_] < 0) threads_[joined_++].join();
}

void ModelServer::accept_all() {
  while (true) {
    const int socket = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0) return;
    const int on = 1;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    const std::lock_guard lock(mutex_);
    join_ended();
    const std::size_t place = open_.size();
    open_.push_back(socket);
    threads_.emplace_back([this, socket, place] {
      Connection(*this, socket, static_cast<int>(place) + 1).serve();
      const std::lock_guard closing(mutex_);
      open_[place] = -1;
      close(socket);
    });
  }
}

}  // namespace perdure::models
