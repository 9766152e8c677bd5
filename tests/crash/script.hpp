// A load that is the same every time: one step is one write to the store, and every
// kind of write is among them.
//
// A run may begin on a store where an earlier run was killed. It then does every
// step again, as a restarted program would: what is there already must answer as it
// did the first time. Each step has its own time, so that equal steps make equal rows.
// That no step reads what it has not written itself is what makes a run repeatable.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "doubles/fake_clock.hpp"
#include "perdure/store/store.hpp"

namespace perdure {

/// How large the script's one blob is: a few pages, or enough to fill the WAL, so that
/// the steps after it begin the WAL anew.
enum class Load : std::uint8_t { small, large };

struct Action {
  std::string name;
  Result<std::string> answer;  ///< What the store said, as text.
  Sync sync = Sync::now;
};

class Script {
 public:
  using Report = std::function<void(std::size_t number, const Action&)>;
  using Granted = std::function<void(const Lease&)>;

  /// The store must use `clock`; both must outlive this. The worker must be enrolled.
  Script(Store& store, FakeClock& clock, WorkerId worker, Load load);

  /// Called after each lease that a step needed.
  void on_lease(Granted granted) { granted_ = std::move(granted); }

  /// Does all steps, and reports each when the store has answered.
  void run(const Report& report);
  /// From within a report: does no more steps.
  void stop() { stopped_ = true; }

  [[nodiscard]] static std::vector<SessionId> sessions();
  /// Every batch of the script and the session it belongs to.
  [[nodiscard]] static std::vector<std::pair<SessionId, BatchId>> batches();
  [[nodiscard]] static std::string blob(Load load);

 private:
  void step(std::string name, const std::function<Result<std::string>()>& act,
            Sync sync = Sync::now);
  void create(std::string name, const NewSession& session);
  void commit(std::string name, const SessionId& session, Batch batch);
  void opening();
  void effects();
  void lines();
  void ending();

  [[nodiscard]] Position next(const SessionId& session) const { return nexts_.at(session); }
  Result<Lease> lease(const SessionId& session);

  Store& store_;
  FakeClock& clock_;
  WorkerId worker_;
  std::string blob_;
  Granted granted_;
  Report report_;
  std::size_t number_ = 0;
  bool stopped_ = false;
  std::map<SessionId, Lease> leases_;
  std::map<SessionId, Position> heads_;
  std::map<SessionId, Position> nexts_;
  Position risky_ = 0;  ///< The call that ends in doubt.
};

}  // namespace perdure
