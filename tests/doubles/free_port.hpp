// A port of the loopback that nobody listens at. Somebody else may take it before its finder does.

#pragma once

#include <arpa/inet.h>
#include <cerrno>
#include <netinet/in.h>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>

namespace perdure {

[[nodiscard]] inline int free_port() {
  const int found = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  auto* const address = reinterpret_cast<sockaddr*>(&at);
  const bool good =
      found >= 0 && bind(found, address, size) == 0 && getsockname(found, address, &size) == 0;
  const int code = errno;
  if (found >= 0) close(found);
  if (!good) throw std::system_error(code, std::generic_category(), "no free port");
  return ntohs(at.sin_port);
}

}  // namespace perdure
