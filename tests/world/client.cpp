// One request over one connection. What the client says afterwards must be true: `Denied` only
// while no byte of the request was sent, or because the world said so.

#include "world/client.hpp"

#include <array>
#include <cerrno>
#include <cstdint>
#include <functional>
#include <poll.h>
#include <stop_token>
#include <string>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include "perdure/core/json.hpp"
#include "world/socket.hpp"
#include "world/wire.hpp"

namespace perdure {
namespace {

using world::Answered;
using world::Denied;
using world::Lost;
using world::Moment;
using world::Reply;
using world::Socket;

// No test waits that long for something that comes: it is the end of one that hangs.
constexpr int patience_ms = 60'000;

// Readable once a stop is asked for: what makes a stop end a poll.
class StopSignal {
 public:
  explicit StopSignal(const std::stop_token& stop) : relay_(stop, [this] { raise(); }) {}

  [[nodiscard]] int descriptor() const { return event_.descriptor(); }

 private:
  void raise() const { eventfd_write(event_.descriptor(), 1); }

  Socket event_{eventfd(0, EFD_CLOEXEC)};
  std::stop_callback<std::function<void()>> relay_;
};

enum class Wait : std::uint8_t { readable, stopped, too_long };

Wait wait_for(const Socket& socket, const StopSignal& stop) {
  std::array<pollfd, 2> wanted = {{{.fd = socket.descriptor(), .events = POLLIN, .revents = 0},
                                   {.fd = stop.descriptor(), .events = POLLIN, .revents = 0}}};
  int count = 0;
  do {
    count = poll(wanted.data(), wanted.size(), patience_ms);
  } while (count < 0 && errno == EINTR);
  if (wanted[0].revents != 0) return Wait::readable;
  return wanted[1].revents != 0 ? Wait::stopped : Wait::too_long;
}

Reply reply_of(const std::string& line) {
  const auto json = parse_json(line);
  if (!json) return Lost{"an answer that is no JSON: " + line};
  if (const Json* const answer = json->find("answer")) return Answered{*answer};
  if (json->find("denied") != nullptr) return Denied{world::text_of(*json, "denied")};
  return Lost{"an answer that says nothing: " + line};
}

Reply receive(const Socket& socket, const std::stop_token& stop) {
  const StopSignal stopped(stop);
  std::string line;
  for (;;) {
    const Wait wait = wait_for(socket, stopped);
    if (wait != Wait::readable) {
      return Lost{wait == Wait::stopped ? "told to stop waiting" : "no answer came"};
    }
    std::array<char, 65536> chunk{};
    const ssize_t size = recv(socket.descriptor(), chunk.data(), chunk.size(), 0);
    if (size <= 0) return Lost{"the connection was closed"};
    line.append(chunk.data(), static_cast<std::size_t>(size));
    if (line.ends_with('\n')) return reply_of(line.substr(0, line.size() - 1));
  }
}

}  // namespace

WorldClient::WorldClient(std::string socket, AtMoment at_moment)
    : socket_(std::move(socket)), at_moment_(std::move(at_moment)) {}

Reply WorldClient::send(const Json& request, const std::stop_token& stop,
                        const AtMoment& at_moment) const {
  const auto pass = [&at_moment](Moment moment) {
    if (at_moment) at_moment(moment);
  };
  pass(Moment::before_request);
  if (stop.stop_requested()) return Denied{"told to stop before anything was sent"};
  const auto socket = world::connect_to(socket_);
  if (!socket) return Denied{"nothing was sent: " + socket.error().message};
  if (!world::send_all(*socket, request.text() + "\n")) return Lost{"the connection broke"};
  pass(Moment::after_request);
  Reply reply = receive(*socket, stop);
  pass(Moment::after_answer);
  return reply;
}

Reply WorldClient::ask(const Json& request, const std::stop_token& stop) const {
  return send(request, stop, {});
}

Reply WorldClient::effect(const world::EffectRequest& request, const std::stop_token& stop) const {
  return send(Json::Object{{"request", "effect"},
                           {"op", request.op},
                           {"key", request.key},
                           {"tool", request.tool},
                           {"args", request.args},
                           {"honours_key", request.honours_key}},
              stop, at_moment_);
}

Reply WorldClient::look(const std::string& op, const std::string& tool,
                        const std::stop_token& stop) const {
  return send(Json::Object{{"request", "look"}, {"op", op}, {"tool", tool}}, stop, at_moment_);
}

Reply WorldClient::verify_op(const std::string& op, const std::stop_token& stop) const {
  return send(Json::Object{{"request", "verify"}, {"op", op}}, stop, at_moment_);
}

Reply WorldClient::verify_key(const std::string& key, const std::stop_token& stop) const {
  return send(Json::Object{{"request", "verify"}, {"key", key}}, stop, at_moment_);
}

}  // namespace perdure
