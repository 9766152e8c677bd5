// Unix-domain sockets: a descriptor that closes itself, and how to get one.

#pragma once

#include <string>
#include <utility>

#include "perdure/core/error.hpp"

namespace perdure::world {

class Socket {
 public:
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket();

  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

/// Takes the place of a socket that a dead process left there.
/// Fails: `unavailable`.
[[nodiscard]] Result<Socket> listen_at(const std::string& path);
/// Fails: `unavailable` if nobody listens there.
[[nodiscard]] Result<Socket> connect_to(const std::string& path);

/// Whether all of it was handed to the system. A peer that is gone raises no signal.
[[nodiscard]] bool send_all(const Socket& socket, const std::string& bytes);

}  // namespace perdure::world
