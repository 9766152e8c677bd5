// A random sequence of store operations, most of them sensible, some of them wrong.
//
// A step is chosen by looking at one store (the oracle) and can then be run on any
// store in the same state. What a step returns, as text, must be the same for all.

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "doubles/fake_clock.hpp"
#include "perdure/store/store.hpp"
#include "property/dice.hpp"

namespace perdure {

struct Action {
  std::string name;
  std::function<std::string(Store&)> run;
};

class Script {
 public:
  Script(std::uint64_t seed, Store& oracle, FakeClock& clock);

  /// The next step. May move the clock.
  Action next();

  /// What no list shows: receipts of all batches, resources, blobs.
  [[nodiscard]] std::string by_name(Store& store) const;
  [[nodiscard]] const std::vector<WorkerId>& workers() const { return workers_; }

 private:
  Action create();
  Action commit();
  Action repeat();
  Action own();
  Action worker();
  Action resource();
  Action post();
  Action annotate();
  Action list();
  Action due();
  Action read();
  Action look();
  Action ledger();
  Action blob();
  Action prune();
  Action erase();
  Action remove();
  Action collect();
  void pass_time();

  NewSession new_session();
  Annotation annotation();
  Batch batch(const SessionSummary& session);
  NewEntry entry();
  Body body();
  std::vector<CallChange> calls(const SessionSummary& session, std::size_t entries);
  CallChange move(const SessionSummary& session, const Call& call, std::size_t entries);
  Intend intend(const SessionSummary& session, std::size_t entries, std::size_t at);
  std::vector<MessageId> consumed(const SessionSummary& session);
  Lease lease(const SessionSummary& session);
  SessionId some_session();
  SessionSummary some_row();
  WorkerId some_worker();
  Point some_point(const SessionId& session);
  Position some_position(const SessionId& session);
  std::optional<Timestamp> some_time();
  template <class IdType>
  IdType made(const char* prefix) {
    return IdType::parse(prefix + std::to_string(++count_)).value();
  }

  struct Committed {
    Lease lease;
    Batch batch;
  };

  Dice dice_;
  Store& oracle_;
  FakeClock& clock_;
  std::uint64_t count_ = 0;
  std::vector<SessionId> proposed_;  ///< Sessions that the last step may have created.
  std::vector<SessionId> sessions_;  ///< Those that exist.
  std::vector<SessionId> removed_;
  std::vector<WorkerId> workers_;
  std::vector<Lease> leases_;
  std::vector<Committed> batches_;
  std::vector<MessageId> messages_;
  std::vector<BlobRef> blobs_;
};

}  // namespace perdure
