// The world, as a process of its own:
//
//   world_server <socket> <file>
//
// says "ready" once it listens, and ends when told to, or when its input does: it never
// outlives the test that started it. One thread, one loop.
//
// Whatever was sent before a question is counted in its answer, though the sender may be dead by
// then. Nothing else is needed for it than the order here: a client has a connection for each
// request, all are accepted before any is read, and they are read in the order of their arrival.

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <map>
#include <optional>
#include <poll.h>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "perdure/core/json.hpp"
#include "world/network.hpp"
#include "world/socket.hpp"
#include "world/vendor.hpp"
#include "world/wire.hpp"

namespace {

using namespace perdure;         // NOLINT(google-build-using-namespace): a program of its own.
using namespace perdure::world;  // NOLINT(google-build-using-namespace)

constexpr std::size_t line_bytes_max = std::size_t{4} << 20;

struct Connection {
  Socket socket;
  std::string in{};
  std::string out{};
  std::optional<Json> held{};  ///< An answer that waits for `release`.
  bool is_closing = false;     ///< To be dropped once its output is out.
  bool is_gone = false;        ///< Its client sends no more.
};

/// A question that is answered once there were so many requests.
struct Waiting {
  std::uint64_t from;
  std::string op;
  std::int64_t requests;
};

// Why it is no request at all; empty if it is one.
std::string refusal_of(const Json& request) {
  const std::string what = text_of(request, "request");
  const bool has_op = !text_of(request, "op").empty();
  if ((what == "effect" || what == "look") && !has_op) return what + " without an op";
  if (what == "verify" && !has_op && text_of(request, "key").empty())
    return "verify without an op and a key";
  return what.empty() ? "no request" : "";
}

class Server {
 public:
  Server(Socket listener, const std::string& file)
      : listener_(std::move(listener)), vendor_(file), network_(vendor_) {}

  void run() {
    while (!is_done_ && wait()) {
      take_in();
      tell_waiting();
      for (auto& [id, each] : connections_) flush(each);
      std::erase_if(connections_, [](const auto& each) { return is_over(each.second); });
    }
  }

 private:
  // Whether there is something to do; not if whoever started us is gone.
  [[nodiscard]] bool wait() const {
    std::vector<pollfd> wanted = {{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0},
                                  {.fd = listener_.descriptor(), .events = POLLIN, .revents = 0}};
    for (const auto& [id, each] : connections_) {
      const int events = each.out.empty() ? POLLIN : POLLIN | POLLOUT;
      wanted.push_back({.fd = each.socket.descriptor(),
                        .events = static_cast<std::int16_t>(events),
                        .revents = 0});
    }
    while (poll(wanted.data(), wanted.size(), -1) < 0) {
      if (errno != EINTR) return false;
    }
    std::array<char, 256> ignored{};
    return wanted[0].revents == 0 || read(STDIN_FILENO, ignored.data(), ignored.size()) > 0;
  }

  void take_in() {
    for (;;) {
      const int accepted =
          accept4(listener_.descriptor(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (accepted < 0) break;
      connections_.emplace(++last_id_, Connection{.socket = Socket(accepted)});
    }
    for (auto& [id, each] : connections_) {
      receive(each);
      take_lines(id, each);
    }
  }

  // What a client sent before it died is still here, and counts.
  static void receive(Connection& from) {
    std::array<char, 65536> chunk{};
    for (;;) {
      const ssize_t size = recv(from.socket.descriptor(), chunk.data(), chunk.size(), 0);
      if (size < 0 && errno == EINTR) continue;
      if (size < 0 && errno == EAGAIN) return;
      if (size > 0) from.in.append(chunk.data(), static_cast<std::size_t>(size));
      if (size <= 0) from.is_gone = true;
      if (size <= 0 || from.in.size() > line_bytes_max) return;
    }
  }

  void take_lines(std::uint64_t id, Connection& from) {
    std::size_t begin = 0;
    for (;;) {
      const std::size_t end = from.in.find('\n', begin);
      if (end == std::string::npos) break;
      take_line(id, from, std::string_view(from.in).substr(begin, end - begin));
      begin = end + 1;
    }
    from.in.erase(0, begin);
    if (from.in.size() > line_bytes_max) from.is_gone = true;
  }

  void take_line(std::uint64_t id, Connection& from, std::string_view line) {
    const auto request = parse_json(line);
    const std::string refusal = request ? refusal_of(*request) : request.error().message;
    if (!refusal.empty()) {
      answer(from, Json::Object{{"denied", refusal}});
      return;
    }
    const std::string what = text_of(*request, "request");
    if (what == "effect" || what == "look" || what == "verify") {
      finish(from, network_.carry(*request));
    } else if (what == "await") {
      waiting_.push_back({id, text_of(*request, "op"), number_of(*request, "requests")});
    } else {
      answer(from, command(what, *request));
    }
  }

  Json command(const std::string& what, const Json& request) {
    Json done;
    if (what == "plan") {
      const auto planned = network_.plan(request);
      if (!planned) return Json::Object{{"denied", planned.error().message}};
    } else if (what == "deliver") {
      network_.deliver();
    } else if (what == "release") {
      for (auto& [id, each] : connections_) {
        if (each.held) answer(each, *std::exchange(each.held, {}));
      }
    } else if (what == "forget_keys") {
      vendor_.forget_keys();
    } else if (what == "count") {
      done = to_json(vendor_.tally(text_of(request, "op")));
    } else if (what == "all") {
      Json::Array tallies;
      for (const Tally& tally : vendor_.tallies()) tallies.push_back(to_json(tally));
      done = std::move(tallies);
    } else if (what == "quit") {
      is_done_ = true;
    } else {
      return Json::Object{{"denied", "nobody knows the request " + what}};
    }
    return Json::Object{{"answer", std::move(done)}};
  }

  void tell_waiting() {
    std::erase_if(waiting_, [this](const Waiting& each) {
      const auto from = connections_.find(each.from);
      if (from == connections_.end()) return true;
      const Tally tally = vendor_.tally(each.op);
      if (std::ssize(tally.requests) < each.requests) return false;
      answer(from->second, Json::Object{{"answer", to_json(tally)}});
      return true;
    });
  }

  static void finish(Connection& with, Carried carried) {
    if (carried.end == Carried::End::answer) answer(with, carried.answer);
    if (carried.end == Carried::End::close) with.is_closing = true;
    if (carried.end == Carried::End::hold) with.held = std::move(carried.answer);
  }

  static void answer(Connection& to, const Json& line) { to.out += line.text() + "\n"; }

  // Sends what the socket takes now. A client that hears nothing may still have said something.
  static void flush(Connection& each) {
    while (!each.out.empty()) {
      const ssize_t size =
          send(each.socket.descriptor(), each.out.data(), each.out.size(), MSG_NOSIGNAL);
      if (size < 0 && errno == EINTR) continue;
      if (size < 0 && errno == EAGAIN) return;
      each.out.erase(0, size < 0 ? each.out.size() : static_cast<std::size_t>(size));
    }
  }

  static bool is_over(const Connection& each) {
    return each.is_gone || (each.is_closing && each.out.empty());
  }

  Socket listener_;
  Vendor vendor_;
  Network network_;
  std::map<std::uint64_t, Connection> connections_;  ///< In the order of their arrival.
  std::uint64_t last_id_ = 0;
  std::vector<Waiting> waiting_;
  bool is_done_ = false;
};

int run(const std::string& socket, const std::string& file) {
  auto listener = listen_at(socket);
  if (!listener) throw std::runtime_error(listener.error().message);
  Server server(*std::move(listener), file);
  if (write(STDOUT_FILENO, "ready\n", 6) != 6) return 1;
  server.run();
  return 0;
}

}  // namespace

int main(int count, char** words) {
  const std::span<char*> arguments(words, static_cast<std::size_t>(count));
  if (arguments.size() != 3) return 2;
  try {
    return run(arguments[1], arguments[2]);
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "world_server: %s\n", problem.what());
    return 1;
  }
}
