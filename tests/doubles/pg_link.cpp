// Requests are handed on whole, up to their sync, so that "before" means that the server has heard
// nothing. Both directions are buffered without a limit: a client that pipelines much may not
// read before it has written all of it.
//
// A cut closes the client, but only half-closes the server: a reset would take words away that the
// server has not read yet.

#include "doubles/pg_link.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <poll.h>
#include <signal.h>
#include <string>
#include <string_view>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

#include "doubles/pg_script.hpp"
#include "doubles/pg_wire.hpp"
#include "world/socket.hpp"

namespace perdure {
namespace {

bool is_at(const std::optional<PgPlan>& plan, PgPlace place) { return plan && plan->at == place; }

short wanted(const std::string& out) {
  return static_cast<short>(out.empty() ? POLLIN : POLLIN | POLLOUT);
}

}  // namespace

PgLink::PgLink(PgScript& script, world::Socket client, world::Socket server)
    : script_(script),
      client_{.socket = std::move(client)},
      server_{.socket = std::move(server)},
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      thread_([this] { run(); }) {}

PgLink::~PgLink() {
  cut();
  thread_.join();
}

void PgLink::cut() {
  is_cut_ = true;
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = write(wake_.descriptor(), &one, sizeof one);
}

void PgLink::run() {
  script_.note_connection();
  while (!is_ending_ && wait()) {
    hear_client();
    hear_server();
  }
  if (!is_cut_) drain();
  client_.socket = world::Socket(-1);
  server_.socket = world::Socket(-1);
  is_over_ = true;
}

// Waits for something to hear and hears it; false at the end of either side.
bool PgLink::wait() {
  std::array<pollfd, 3> ways{
      pollfd{.fd = client_.socket.descriptor(), .events = wanted(client_.out), .revents = 0},
      pollfd{.fd = server_.socket.descriptor(), .events = wanted(server_.out), .revents = 0},
      pollfd{.fd = wake_.descriptor(), .events = POLLIN, .revents = 0}};
  while (poll(ways.data(), ways.size(), -1) < 0 && errno == EINTR) {
  }
  if (is_cut_) return false;
  if ((ways[0].revents & POLLOUT) != 0) send(client_);
  if ((ways[1].revents & POLLOUT) != 0) send(server_);
  const bool client_goes_on = (ways[0].revents & ~POLLOUT) == 0 || receive(client_);
  const bool server_goes_on = (ways[1].revents & ~POLLOUT) == 0 || receive(server_);
  if (client_goes_on && server_goes_on) return true;
  // The last words of one who leaves are for the other.
  hear_client();
  hear_server();
  return false;
}

bool PgLink::receive(Side& side) {
  std::array<char, 65536> chunk{};
  const ssize_t size = recv(side.socket.descriptor(), chunk.data(), chunk.size(), MSG_DONTWAIT);
  if (size < 0) return errno == EAGAIN || errno == EINTR;
  side.frames.add({chunk.data(), static_cast<std::size_t>(size)});
  return size > 0;
}

void PgLink::send(Side& side) {
  const ssize_t size = ::send(side.socket.descriptor(), side.out.data(), side.out.size(),
                              MSG_NOSIGNAL | MSG_DONTWAIT);
  if (size > 0) side.out.erase(0, static_cast<std::size_t>(size));
  if (size < 0 && errno != EAGAIN && errno != EINTR) side.out.clear();
}

void PgLink::send_all(Side& side) {
  while (!side.out.empty()) {
    pollfd way{.fd = side.socket.descriptor(), .events = POLLOUT, .revents = 0};
    (void)poll(&way, 1, -1);
    send(side);
  }
}

void PgLink::hear_client() {
  while (!has_started_) {
    const auto message = client_.frames.take_startup();
    if (!message) return;
    hear_startup(*message);
  }
  while (!is_ending_ && sync_.empty()) {
    const auto message = client_.frames.take();
    if (!message) return;
    script_.pass(false);
    hear_request(*message);
  }
}

void PgLink::hear_startup(const pg_wire::Message& message) {
  const pg_wire::Opening opening = pg_wire::opening_of(message);
  if (opening == pg_wire::Opening::encryption) {
    client_.out += 'N';
    return;
  }
  server_.out += message.bytes;
  has_started_ = true;
}

void PgLink::hear_request(const pg_wire::Message& message) {
  const bool is_farewell = message.type == 'X';
  if (is_ready_ && !is_farewell && std::exchange(server_spoke_, false)) ++has_.exchanges;
  if (message.type == 'P') ++has_.parses;
  if (auto text = texts_.hear(message)) run_.push_back(*std::move(text));
  if (message.type == 'S') {
    sync_ = message.bytes;
    return ask();
  }
  request_ += message.bytes;
  if (message.type == 'Q') return ask();
  const bool waits = std::string_view("PBEDC").find(message.type) != std::string_view::npos;
  if (!waits) server_.out += std::exchange(request_, {});
}

void PgLink::ask() {
  const auto met = script_.meet(run_, std::exchange(has_, {}));
  Asked asked{.plan = met.plan, .is_counted = met.is_counted};
  const bool awaits_results =
      is_at(asked.plan, PgPlace::before_sync) || is_at(asked.plan, PgPlace::after_results);
  // A simple query cannot be had without its commit.
  if (is_at(asked.plan, PgPlace::before_request) || (awaits_results && sync_.empty())) {
    act(*std::exchange(asked.plan, {}));
    if (is_ending_) return;
  }
  server_.out += std::exchange(request_, {});
  if (asked.plan && awaits_results) {
    asked.results = run_.size();
    server_.out += pg_wire::flush_message();
  } else {
    server_.out += std::exchange(sync_, {});
  }
  run_.clear();
  if (is_at(asked.plan, PgPlace::after_request)) {
    send_all(server_);
    act(*std::exchange(asked.plan, {}));
  }
  asked_.push_back(std::move(asked));
}

void PgLink::hear_server() {
  while (!is_ending_) {
    const auto message = server_.frames.take();
    if (!message) return;
    hear_reply(*message);
  }
}

void PgLink::hear_reply(const pg_wire::Message& message) {
  server_spoke_ = true;
  if (message.type == 'K') backend_ = pg_wire::backend_in(message);
  const bool is_end = message.type == 'Z';
  if (asked_.empty()) {
    is_ready_ = is_ready_ || is_end;
    client_.out += message.bytes;
    return;
  }
  Asked& asked = asked_.front();
  if (is_end) return hear_end(asked, message.bytes);
  const bool is_unheard =
      is_at(asked.plan, PgPlace::before_sync) || is_at(asked.plan, PgPlace::after_reply);
  (is_unheard ? unheard_ : client_.out) += message.bytes;
  const bool is_result = std::string_view("CEIs").find(message.type) != std::string_view::npos;
  if (asked.results > 0 && is_result) {
    asked.results = message.type == 'E' ? 0 : asked.results - 1;
    if (asked.results == 0) hear_result(asked);
  }
}

// The statements have run, and their sync has not been sent.
void PgLink::hear_result(Asked& asked) {
  act(*std::exchange(asked.plan, {}));
  if (is_ending_) return;
  client_.out += std::exchange(unheard_, {});
  server_.out += std::exchange(sync_, {});
}

void PgLink::hear_end(Asked& asked, const std::string& ready) {
  script_.pass(true);
  if (asked.is_counted) script_.note_reply();
  if (asked.plan) act(*asked.plan);
  if (is_ending_) return;
  client_.out += std::exchange(unheard_, {}) + ready;
  asked_.pop_front();
}

void PgLink::act(const PgPlan& plan) {
  send_all(client_);
  if (plan.deed == PgDeed::kill) kill(getpid(), SIGKILL);
  if (plan.deed == PgDeed::cut) {
    is_ending_ = true;
    client_.socket = world::Socket(-1);
    shutdown(server_.socket.descriptor(), SHUT_WR);
  }
  script_.happened(plan, backend_);
  if (is_cut_) is_ending_ = true;
}

// One side has left. The other gets what is on its way to it; the server is heard out.
void PgLink::drain() {
  if (client_.socket.descriptor() >= 0) send_all(client_);
  client_.socket = world::Socket(-1);
  send_all(server_);
  shutdown(server_.socket.descriptor(), SHUT_WR);
  while (!is_cut_) {
    std::array<pollfd, 2> ways{
        pollfd{.fd = server_.socket.descriptor(), .events = POLLIN, .revents = 0},
        pollfd{.fd = wake_.descriptor(), .events = POLLIN, .revents = 0}};
    (void)poll(ways.data(), ways.size(), -1);
    if (ways[0].revents != 0 && !receive(server_)) return;
  }
}

}  // namespace perdure
