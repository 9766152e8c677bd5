// The world of a test: a server of its own that counts what really took effect.
// wire.hpp has its protocol.

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "crash/child_process.hpp"
#include "perdure/core/json.hpp"
#include "world/client.hpp"
#include "world/wire.hpp"

namespace perdure {
namespace world {

/// What is to become of one request of those that fit.
struct Plan {
  Fate fate = Fate::none;
  std::string of = "effect";  ///< Or `look`, `verify`.
  std::string tool{};         ///< Empty: of any.
  std::string op{};           ///< Empty: of any.
  std::int64_t nth = 1;       ///< Of those that fit, from now on.
  std::int64_t after = 0;     ///< If late: lands after so many further requests; 0: at `deliver`.
};

}  // namespace world

/// The server, and the judge's questions to it; they throw if it does not answer. It ends with
/// this object, and with this process however that ends.
class World {
 public:
  /// Keeps its socket and its file in `folder`.
  explicit World(const std::string& folder);

  /// For a client in another process.
  [[nodiscard]] const std::string& socket() const { return socket_; }
  [[nodiscard]] const std::string& file() const { return file_; }
  [[nodiscard]] WorldClient client() const { return WorldClient(socket_); }

  void plan(const world::Plan& plan) const;
  void deliver() const;
  void release() const;
  void forget_keys() const;

  [[nodiscard]] world::Tally count(const std::string& op) const;
  /// In the order of their first requests.
  [[nodiscard]] std::vector<world::Tally> all() const;
  /// Returns once so many requests of that op were sent, in all.
  void await(const std::string& op, std::int64_t requests) const;

  /// With SIGKILL.
  void kill();
  /// Starts it again, on the same file. Throws if it does not come up.
  void restart();
  /// Tells it to end, and how it did.
  Ending quit();

 private:
  Json must_answer(const Json& request) const;

  std::string socket_;
  std::string file_;
  std::unique_ptr<ChildProcess> server_;
};

}  // namespace perdure
