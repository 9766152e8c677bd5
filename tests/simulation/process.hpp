// A process of a simulated life, and a session that one process after the other runs.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "perdure/core/id.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/store.hpp"
#include "simulation/books.hpp"
#include "simulation/model.hpp"
#include "simulation/mortal_store.hpp"

namespace perdure::simulation {

/// What befalls a process between the dispatch of a call and the record of its outcome.
enum class Ambush : std::uint8_t {
  none,
  death_before_send,
  death_after_send,
  overtaken_before_send,  ///< Stopped past its lease; another one takes the session; it goes on.
  overtaken_after_send,
  opened_again,  ///< The tool opens the session that it runs for.
};

struct Process {
  Process(Store& behind, Graves& graves, std::uint64_t given)
      : number(given), store(behind, graves) {}

  const std::uint64_t number;
  MortalStore store;
  std::unique_ptr<Runtime> runtime{};
  std::optional<Session> session{};
  std::optional<Response> bought{};  ///< Paid for, and not known to be committed.
  std::string bought_for{};          ///< The conversation it answers.
  bool asks_ahead = false;           ///< The last response said that another request follows.
  /// Nobody knows whether it went back to a point with an open request.
  bool may_have_gone_back = false;
  std::optional<Waiting> waiting{};
  bool is_unsure = false;  ///< Of a commit; until one returned.
  std::uint64_t ambush_in = 0;
  Ambush ambush = Ambush::none;
  int refusals = 0;  ///< One after the other.
};

/// One session, and who runs it.
struct Actor {
  SessionId id{};
  int lives = 1;       ///< How many sessions have had its id, one after the other.
  std::string root{};  ///< Of the tree of forks whose effects it shares: that session's name.
  std::int64_t turns = 1;
  std::unique_ptr<Process> process{};
  std::vector<std::unique_ptr<Process>> outdated{};  ///< They do not know it yet.
  SessionBooks books{};
  bool is_done = false;
};

}  // namespace perdure::simulation
