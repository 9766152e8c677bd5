// Makes the calls of a session, one after the other, and settles those whose outcome is unknown.
// Facts are gathered in facts.hpp, decisions are made in decide.hpp; what is written is in
// calls.hpp.
//
// Nothing acts before the commit that dispatches it is known to be there. What happens between
// that commit and the one of its outcome is what a crash leaves in doubt.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "dispatch/attempts.hpp"
#include "dispatch/calls.hpp"
#include "dispatch/decide.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "writer/session_writer.hpp"

namespace perdure::dispatch {

class Dispatcher {
 public:
  explicit Dispatcher(SessionWriter& writer) : writer_(writer), attempts_(writer) {}
  ~Dispatcher() { static_cast<void>(end()); }
  Dispatcher(const Dispatcher&) = delete;
  Dispatcher& operator=(const Dispatcher&) = delete;

  /// What of these starts with the draft: the first, or the first few if they only read. They are
  /// to be passed to `began` when the draft is committed.
  /// Fails: as read_facts of the first; `unavailable` if the policy throws about it. Those before
  /// one of which that cannot be said start.
  [[nodiscard]] Result<std::vector<CallView>> dispatch_first(Draft& draft,
                                                             const std::vector<CallView>& calls);
  void began(std::vector<CallView> calls);

  /// Where the request that follows the calls is written: with the last of their commits that is
  /// synced. Reads have only the one that dispatches them, which the draft is: it keeps its
  /// `next_request`. For other calls that is the commit of the last outcome, which gets it then.
  void place_next_request(Draft& draft, const std::vector<CallView>& calls);
  /// It is not written any more, if it is not yet.
  void drop_next_request() { next_request_.reset(); }

  /// Adds to the draft that calls which were not started never will be, and forgets them: those
  /// that are intended are `cancelled`, and the model is told why; of those that are dispatched the
  /// model is told that they were not started. How many.
  /// Fails: as the ledger's readers, and then leaves all as it was.
  [[nodiscard]] Result<std::size_t> cancel_unbegun(Draft& draft, const std::string& why);

  /// Waits for attempts that still run, at most so long (empty: as long as it takes), and records
  /// what they say if that can be done. Whether all have ended; if not, all else is as it was.
  [[nodiscard]] bool end(std::optional<Duration> patience = {});
  /// The calls whose attempts still run.
  [[nodiscard]] std::vector<Position> running() const { return attempts_.running(); }

  /// Ends what an earlier attempt of the call left running. To be called before anybody is asked or
  /// told about a call without an outcome that does not run here. Why something may still run;
  /// empty: nothing does.
  /// Fails: as SessionWriter::check_may_act; as the ledger's readers.
  [[nodiscard]] Result<std::optional<std::string>> end_leftovers(const CallView& call);

  /// Whether an attempt of this process runs, or is about to.
  [[nodiscard]] bool is_running(Position call) const;

  /// Asks the call's tool, which can be asked, whether it took effect; writes nothing. As long as
  /// its timeout lasts, or the runner of the calls does not stop.
  /// Fails: as the ledger's readers; `lease_lost` if this worker may not act any more.
  [[nodiscard]] Result<Verdict> verify(const CallView& call);

  /// Does what can be done: until every call is answered, something outside is needed, or it is
  /// asked to stop: then what runs is recorded, and nothing else starts.
  /// Fails: as Store::commit.
  [[nodiscard]] Result<CallsReport> run(const std::stop_token& stop);

 private:
  enum class Step { went_on, waits };
  struct Verified {
    Verdict verdict;
    Timestamp began{};  ///< When it was asked.
  };

  [[nodiscard]] Result<void> run_all();
  [[nodiscard]] Result<Step> advance(const std::vector<CallView>& calls);
  [[nodiscard]] Result<Step> begin(const std::vector<CallView>& calls);
  [[nodiscard]] Result<Step> tell_outcome(const CallView& call);
  [[nodiscard]] Result<Step> go_on_with(const CallView& call);
  [[nodiscard]] Result<Step> act_on(const CallFacts& facts);
  [[nodiscard]] Result<Step> run_again(const CallView& call, bool none_landed);
  [[nodiscard]] Result<void> add_attempt(Draft& draft, const CallView& call, bool none_landed);
  [[nodiscard]] Result<Step> replay(const CallView& call, const Call& holder);
  [[nodiscard]] Result<Step> ask_verify(const CallView& call);
  /// It waits, and the log says for what.
  [[nodiscard]] Result<Step> park(const CallView& call, Waiting waiting);
  [[nodiscard]] Result<void> run_started();
  [[nodiscard]] Result<bool> record_all(const std::vector<CallView>& calls,
                                        const std::vector<Ended>& ended, bool with_next);
  [[nodiscard]] Result<std::vector<CallView>> open_beside(const std::vector<CallView>& calls);
  [[nodiscard]] Result<void> wake();
  /// With what this process knows of the call's attempts.
  [[nodiscard]] Result<CallFacts> facts_about(const CallView& call);
  [[nodiscard]] bool has_unresolved(const CallView& call) const;
  bool record(Draft& draft, const CallView& call, const Ended& ended);
  [[nodiscard]] Result<void> record_late();
  [[nodiscard]] Result<Step> commit(Draft draft);

  SessionWriter& writer_;
  Attempts attempts_;
  std::vector<CallView> started_;  ///< Dispatched by us, and not run yet.
  /// Of a verify since the call's last attempt, by call and attempt.
  std::map<std::pair<Position, std::int64_t>, Verified> verdicts_;
  /// When an attempt was first looked at that is not known to run.
  std::map<std::pair<Position, std::int64_t>, Timestamp> seen_;
  /// To be written with the last outcome of the present calls.
  std::optional<NewRequest> next_request_;
  std::stop_token stop_;  ///< Of the caller that runs the calls now; none if none does.
  CallsReport report_;
};

}  // namespace perdure::dispatch
