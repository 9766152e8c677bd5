// What really happened, in a life that one seed decides. It counts effects, loses, delays and
// doubles requests, remembers keys as long as a vendor says it does, and answers verify.
//
// Its time is the uptime: what is under way does not care about wall clocks.
//
// Thread safety: every method may be called from any thread at any time.

#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "perdure/core/time.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/log.hpp"
#include "simulation/kinds.hpp"

namespace perdure::simulation {

/// A request that a tool sends.
struct Sent {
  const Kind* kind = nullptr;
  std::string session{};  ///< As its books name it.
  Position call = 0;
  std::int64_t attempt = 1;
  std::string operation{};  ///< In the scope of the tool's repeat rule.
  std::string key{};
  bool is_outdated = false;  ///< Sent by a process that had lost its lease.
};

struct Effect {
  Sent sent{};
  /// Nobody promises anything of it: it landed later than the tool says it can, or was sent by
  /// a process that had been stopped between its last check and the send.
  bool is_excused = false;
};

class World {
 public:
  /// `clock` must outlive it.
  World(std::uint64_t seed, const Clock& clock) : seed_(seed), clock_(clock) {}

  [[nodiscard]] ToolOutcome send(const Sent& sent);
  [[nodiscard]] Verdict verify(const std::string& key);

  /// From now on every request is answered, and verify knows.
  void calm_down();

  /// When the last request of this operation that is under way lands; empty: none is.
  [[nodiscard]] std::optional<Uptime> last_landing(const std::string& operation) const;
  [[nodiscard]] bool has_landed(const std::string& operation);

  [[nodiscard]] std::vector<Effect> effects() const;
  /// What the world did with each request, in words, since the last time this was asked.
  [[nodiscard]] std::vector<std::string> take_news();

 private:
  enum class Fate : std::uint8_t {
    answered,
    refused,
    not_begun,
    request_lost,
    answer_lost,
    late,
    doubled
  };
  struct Flight {
    Uptime due{};
    Sent sent{};
    bool is_excused = false;
  };
  /// Requests under way are looked at later than they land.
  struct Landing {
    Uptime at{};
    bool is_excused = false;
    bool is_refused = false;
  };
  struct Memory {
    Uptime since{};
    bool is_refused = false;
  };

  [[nodiscard]] Fate fate_of(const Sent& sent) const;
  [[nodiscard]] Memory* recall(const Sent& sent, Uptime at);
  bool land(const Sent& sent, const Landing& landing);
  void delay(const Sent& sent);
  void deliver();
  void tell(const Sent& sent, const std::string& what);

  const std::uint64_t seed_;
  const Clock& clock_;
  mutable std::mutex mutex_;
  bool is_calm_ = false;
  std::uint64_t verifies_ = 0;
  std::vector<Effect> effects_;
  std::vector<Flight> flights_;
  std::map<std::string, Memory> keys_;
  std::vector<std::string> news_;
};

}  // namespace perdure::simulation
