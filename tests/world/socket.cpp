// Both ends go through here, so that no descriptor is inherited by a child: a server whose
// connection lives on in another process would never see its end.

#include "world/socket.hpp"

#include <cerrno>
#include <cstring>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <system_error>
#include <unistd.h>

#include "perdure/core/error.hpp"

namespace perdure::world {
namespace {

std::unexpected<Error> failed_to(const std::string& what, const std::string& path) {
  return fail(ErrorCode::unavailable,
              "cannot " + what + " " + path + ": " + std::generic_category().message(errno));
}

// Fails for a path that does not fit: cut off, it would be that of another world.
Result<sockaddr_un> address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) {
    return fail(ErrorCode::unavailable, "too long for a socket: " + path);
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

const sockaddr* any(const sockaddr_un& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

}  // namespace

Socket::~Socket() {
  if (descriptor_ >= 0) close(descriptor_);
}

Result<Socket> listen_at(const std::string& path) {
  const auto address = address_of(path);
  if (!address) return std::unexpected(address.error());
  Socket made(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  unlink(path.c_str());
  if (bind(made.descriptor(), any(*address), sizeof(*address)) != 0 ||
      listen(made.descriptor(), SOMAXCONN) != 0) {
    return failed_to("listen at", path);
  }
  return made;
}

Result<Socket> connect_to(const std::string& path) {
  const auto address = address_of(path);
  if (!address) return std::unexpected(address.error());
  Socket made(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (connect(made.descriptor(), any(*address), sizeof(*address)) != 0) {
    return failed_to("connect to", path);
  }
  return made;
}

bool send_all(const Socket& socket, const std::string& bytes) {
  std::size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t size =
        send(socket.descriptor(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return false;
    sent += static_cast<std::size_t>(size);
  }
  return true;
}

}  // namespace perdure::world
