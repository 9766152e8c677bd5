// What every saver must do: with checkpoints, and with steps.
//
// A Trial is a saver under test: it does what a check asks, and remembers the first thing that was
// wrong.

#include <array>
#include <atomic>
#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "core/api/guarded.hpp"
#include "core/api/json_text.hpp"
#include "perdure/adapters/saver.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"

namespace perdure {
namespace {

RawJson json(const std::string& text) { return RawJson::from_text(text).value(); }

/// Whether both are the same JSON value.
bool is_same(const RawJson& a, const RawJson& b) {
  const auto one = canonical_json(a.value());
  const auto other = canonical_json(b.value());
  return one && other && *one == *other;
}

class Trial {
 public:
  using Checkpoint = CheckpointSaver::Checkpoint;

  explicit Trial(CheckpointSaver& saver) : saver_(saver) {}

  [[nodiscard]] CheckpointSaver& saver() { return saver_; }
  [[nodiscard]] const std::optional<std::string>& problem() const { return problem_; }

  void require(bool holds, std::string_view what) {
    if (!holds && !problem_) problem_ = what;
  }
  template <class T>
  void require_ok(const Result<T>& result, std::string_view what) {
    if (!result) require(false, std::string(what) + " failed: " + result.error().message);
  }
  template <class T>
  void require_code(const Result<T>& result, ErrorCode code, std::string_view what) {
    require(!result && result.error().code == code,
            std::string(what) + " must fail with " + std::string(to_string(code)));
  }

  Checkpoint put(const std::string& thread, const std::string& state,
                 const std::optional<std::string>& parent = {}) {
    return value_of(saver_.put(thread, json(state), parent), "put");
  }
  std::optional<Checkpoint> get(const std::string& thread,
                                const std::optional<std::string>& id = {}) {
    return value_of(saver_.get(thread, id), "get");
  }
  std::vector<Checkpoint> list(const std::string& thread,
                               const std::optional<std::string>& before = {}, int limit = 10) {
    return value_of(saver_.list(thread, before, limit), "list");
  }
  /// The claim, which must be given.
  CheckpointSaver::StepClaim claim(const std::string& thread, const std::string& key,
                                   const std::string& fingerprint) {
    const auto answer = value_of(saver_.claim_step(thread, key, fingerprint), "claim_step");
    const auto* claim = std::get_if<CheckpointSaver::StepClaim>(&answer);
    require(claim != nullptr, "a step that is free is given to who asks for it");
    return claim != nullptr ? *claim : CheckpointSaver::StepClaim{};
  }
  void fill(const CheckpointSaver::StepClaim& claim, const std::string& result) {
    require_ok(saver_.fill_step(claim, json(result)), "fill_step");
  }

  void require_state(const std::optional<Checkpoint>& checkpoint, const std::string& state,
                     std::string_view what) {
    if (!checkpoint) return require(false, std::string(what) + ": there is no checkpoint");
    const auto found = checkpoint->state.read();
    require_ok(found, "reading a state");
    if (found) {
      require(is_same(*found, json(state)),
              std::string(what) + ": the state is " + found->text() + ", not " + state);
    }
  }

 private:
  /// Something empty after a failure.
  template <class T>
  T value_of(Result<T> result, std::string_view what) {
    require_ok(result, what);
    return result ? *std::move(result) : T{};
  }

  CheckpointSaver& saver_;
  std::optional<std::string> problem_;
};

/// The check of that name.
SaverCheck check_of(std::string_view name, void (*body)(Trial&)) {
  return {name, [body](const MakeSaver& make) -> std::optional<std::string> {
            auto saver = guarded("`make`", [&] { return make(); });
            if (!saver) return saver.error().message;
            if (*saver == nullptr) return "no saver was made";
            Trial trial(**saver);
            const auto ran = guarded("the saver", [&] { body(trial); });
            return ran ? trial.problem() : ran.error().message;
          }};
}

using StepClaim = CheckpointSaver::StepClaim;
using DoneStep = CheckpointSaver::Step;
using StepHolder = CheckpointSaver::StepHolder;

void require_done(Trial& trial, const std::string& key, const std::string& fingerprint,
                  const std::string& result) {
  const auto answer = trial.saver().claim_step("t", key, fingerprint);
  trial.require_ok(answer, "claim_step");
  const DoneStep* step = answer ? std::get_if<DoneStep>(&*answer) : nullptr;
  trial.require(step != nullptr, "a step that was filled is answered with its result");
  if (step == nullptr) return;
  trial.require(is_same(step->result, json(result)), "the result is the one that was filled in");
  trial.require(step->thread_id == "t" && step->step_key == key && step->fingerprint == fingerprint,
                "a step says what it is");
}

void claimed_once(Trial& trial) {
  trial.claim("t", "k", "f");
  const auto again = trial.saver().claim_step("t", "k", "f");
  trial.require(again && std::holds_alternative<StepHolder>(*again),
                "a step that is being done is not given to a second one");
  trial.claim("t", "another", "f");
  trial.claim("another", "k", "f");
}

void filled_is_replayed(Trial& trial) {
  for (const std::string result : {R"({"a":[1,2]})", "null", "\"text\"", "17"}) {
    trial.fill(trial.claim("t", "key " + result, "f"), result);
    require_done(trial, "key " + result, "f", result);
  }
}

void bound_to_its_request(Trial& trial) {
  const StepClaim claim = trial.claim("t", "k", "first request");
  trial.require_code(trial.saver().claim_step("t", "k", "second request"), ErrorCode::conflict,
                     "claiming a step under way with another fingerprint");
  trial.fill(claim, "1");
  trial.require_code(trial.saver().claim_step("t", "k", "second request"), ErrorCode::conflict,
                     "claiming a done step with another fingerprint");
  require_done(trial, "k", "first request", "1");
}

void released_is_free(Trial& trial) {
  const StepClaim first = trial.claim("t", "k", "f");
  trial.require_ok(trial.saver().release_step(first), "release_step");
  trial.require_ok(trial.saver().release_step(first), "releasing twice");
  const StepClaim second = trial.claim("t", "k", "another");
  trial.require_ok(trial.saver().release_step(first), "releasing a claim that has ended");
  trial.fill(second, "2");
  require_done(trial, "k", "another", "2");
}

void ended_claim_fills_nothing(Trial& trial) {
  const StepClaim first = trial.claim("t", "k", "f");
  trial.require_ok(trial.saver().release_step(first), "release_step");
  trial.require_code(trial.saver().fill_step(first, json("1")), ErrorCode::lease_lost,
                     "filling under a claim that was released");
  const StepClaim second = trial.claim("t", "k", "f");
  trial.require_code(trial.saver().fill_step(first, json("1")), ErrorCode::lease_lost,
                     "filling under an older claim");
  trial.fill(second, "2");
  trial.fill(second, "3");
  trial.require_code(trial.saver().fill_step(first, json("1")), ErrorCode::lease_lost,
                     "filling what another one filled");
  require_done(trial, "k", "f", "2");
}

void listed_in_order(Trial& trial) {
  const StepClaim first = trial.claim("t", "a", "f");
  trial.fill(trial.claim("t", "b", "f"), "2");
  trial.fill(first, "1");
  trial.claim("t", "open", "f");
  const auto steps = trial.saver().list_steps("t");
  trial.require(steps && steps->size() == 2 && steps->at(0).step_key == "b" &&
                    steps->at(1).step_key == "a" && is_same(steps->at(1).result, json("1")),
                "done steps are listed in the order in which they were filled");
  const auto none = trial.saver().list_steps("nobody");
  trial.require(none && none->empty(), "a thread without steps lists none");
}

void outlive_checkpoints(Trial& trial) {
  const auto first = trial.put("t", R"({"n":1})");
  trial.put("t", R"({"n":2})");
  trial.fill(trial.claim("t", "k", "f"), "1");
  trial.put("t", R"({"n":3})", first.id);
  require_done(trial, "k", "f", "1");
}

void every_step_is_found(Trial& trial) {
  constexpr int steps = 120;
  for (int i = 0; i < steps; ++i) {
    trial.fill(trial.claim("t", std::to_string(i), "f"), std::to_string(i));
  }
  for (int i = 0; i < steps; ++i) require_done(trial, std::to_string(i), "f", std::to_string(i));
}

/// Calls `work` from so many threads at once, and returns how often it failed.
int failures_at_once(std::size_t threads, const std::function<bool()>& work) {
  std::atomic<int> failures = 0;
  std::vector<std::jthread> running(threads);
  for (std::jthread& thread : running) {
    // Nothing thrown may leave the thread.
    thread = std::jthread([&] {
      const auto done = guarded("the saver", work);
      if (!done || !*done) ++failures;
    });
  }
  for (std::jthread& thread : running) thread.join();
  return failures;
}

void one_of_many(Trial& trial) {
  std::atomic<int> claims = 0;
  const int failures = failures_at_once(8, [&] {
    const auto answer = trial.saver().claim_step("t", "k", "f");
    if (answer && std::holds_alternative<StepClaim>(*answer)) ++claims;
    return answer.has_value();
  });
  trial.require(failures == 0 && claims == 1, "of many who ask at once, one gets the step");
}

void bad_names(Trial& trial) {
  trial.require_code(trial.saver().claim_step("", "k", "f"), ErrorCode::invalid_argument,
                     "a step of a bad thread");
  trial.require_code(trial.saver().claim_step("t", "", "f"), ErrorCode::invalid_argument,
                     "a step without a key");
  trial.require_code(trial.saver().claim_step("t", "k", ""), ErrorCode::invalid_argument,
                     "a step without a fingerprint");
}

std::string numbered(int number) { return R"({"n":)" + std::to_string(number) + "}"; }

/// A conversation of which only the messages `from` … `to` - 1 are kept.
std::string window(int from, int to) {
  std::string text = R"({"messages":[)";
  for (int i = from; i < to; ++i) {
    text += (i == from ? "" : ",") + (R"({"id":)" + std::to_string(i) + R"(,"text":")") +
            std::string(300, static_cast<char>('a' + i % 26)) + R"("})";
  }
  return text + R"(],"turn":)" + std::to_string(to) + "}";
}

void unknown_thread(Trial& trial) {
  trial.require(!trial.get("nobody"), "a thread without puts has no latest checkpoint");
  trial.require(!trial.get("nobody", "ckp_1"), "a thread without puts has no checkpoint at all");
  trial.require(trial.list("nobody").empty(), "a thread without puts lists nothing");
}

void state_comes_back(Trial& trial) {
  const std::vector<std::string> states = {
      "{}",
      R"({"a":null,"b":[true,false],"c":{"d":[[],{}]}})",
      R"({"n":[0,-1,1.5,1e30,9007199254740993,12345678901234567890]})",
      R"({"":"","ä":"😀 \u0000 \" \\ \/ \ud83d\ude00"})",
      R"( { "spaced" : [ 1 , 2 ] } )",
  };
  for (const std::string& state : states) {
    const auto made = trial.put("t", state);
    trial.require_state(made, state, "what put returns");
    trial.require_state(trial.get("t", made.id), state, "what get returns");
  }
}

void latest(Trial& trial) {
  for (int i = 1; i <= 3; ++i) {
    const auto made = trial.put("t", numbered(i));
    const auto found = trial.get("t");
    trial.require_state(found, numbered(i), "the latest checkpoint");
    trial.require(found && found->id == made.id && found->thread_id == "t" &&
                      found->created_at == made.created_at,
                  "the latest checkpoint is the one that put returned");
  }
}

void found_by_id(Trial& trial) {
  const auto first = trial.put("t", numbered(1));
  const auto second = trial.put("t", numbered(2));
  trial.require(!first.id.empty() && first.id != second.id, "every checkpoint has its own id");
  trial.require_state(trial.get("t", first.id), numbered(1), "the first by its id");
  trial.require_state(trial.get("t", second.id), numbered(2), "the second by its id");
  trial.require(!trial.get("t", "no such id"), "an unknown id gives no checkpoint");
  trial.require(!trial.get("t", ""), "an empty id gives no checkpoint");
  trial.require(!trial.get("other", first.id), "an id belongs to its thread");
}

void metadata_comes_back(Trial& trial) {
  const auto plain = trial.put("t", numbered(1));
  trial.require(is_same(plain.metadata, json("{}")) && !plain.parent_id,
                "without metadata and parent there are none");
  const auto made = trial.saver().put("t", json(numbered(2)), plain.id, json(R"({"why":["x",1]})"));
  trial.require_ok(made, "a put with parent and metadata");
  const auto found = trial.get("t");
  trial.require(found && found->parent_id == plain.id, "the parent comes back");
  trial.require(found && is_same(found->metadata, json(R"({"why":["x",1]})")),
                "metadata comes back");
  const auto listed = trial.list("t");
  trial.require(listed.size() == 2 && listed.front().parent_id == plain.id &&
                    is_same(listed.front().metadata, json(R"({"why":["x",1]})")),
                "lists show parent and metadata");
}

void only_objects(Trial& trial) {
  for (const char* text : {"null", "[]", "1", "\"{}\"", "true"}) {
    trial.require_code(trial.saver().put("t", json(text)), ErrorCode::invalid_argument,
                       std::string("a put of ") + text);
    trial.require_code(trial.saver().put("t", json("{}"), {}, json(text)),
                       ErrorCode::invalid_argument, std::string("metadata of ") + text);
  }
  trial.require(!trial.get("t"), "a put that was refused leaves nothing");
}

void newest_first(Trial& trial) {
  for (int i = 1; i <= 5; ++i) trial.put("t", numbered(i));
  const auto listed = trial.list("t");
  trial.require(listed.size() == 5, "five puts are five in the list");
  int expected = 5;
  for (const auto& checkpoint : listed) {
    trial.require_state(checkpoint, numbered(expected--), "newest first");
  }
}

void limit_is_a_cap(Trial& trial) {
  for (int i = 1; i <= 12; ++i) trial.put("t", numbered(i));
  trial.require(trial.list("t").size() == 10, "without a limit it is ten");
  trial.require(trial.list("t", {}, 3).size() == 3, "a limit of three gives three");
  trial.require(trial.list("t", {}, 100).size() == 12, "a large limit gives all");
  trial.require(trial.list("t", {}, 0).empty(), "a limit of zero gives none");
  trial.require(trial.list("t", {}, -1).empty(), "a limit below zero gives none");
}

void before_is_strict(Trial& trial) {
  std::array<std::string, 6> ids;
  for (int i = 0; i < 6; ++i) ids.at(static_cast<std::size_t>(i)) = trial.put("t", numbered(i)).id;
  const auto listed = trial.list("t", ids[4], 2);
  trial.require(listed.size() == 2 && listed[0].id == ids[3] && listed[1].id == ids[2],
                "before the fifth come the fourth and the third");
  trial.require(trial.list("t", ids[0]).empty(), "before the first there is none");
  trial.require(trial.list("t", "no such id").empty(), "before an unknown one there is none");
  trial.put("other", numbered(9));
  trial.require(trial.list("other", ids[4]).empty(), "before another thread's there is none");
}

void threads_are_apart(Trial& trial) {
  trial.put("a", numbered(1));
  trial.put("b", numbered(2));
  trial.require_state(trial.get("a"), numbered(1), "thread a");
  trial.require_state(trial.get("b"), numbered(2), "thread b");
  trial.require(trial.list("a").size() == 1, "a list shows its own thread only");
}

void remove_forgets(Trial& trial) {
  const auto old = trial.put("t", window(0, 20));
  trial.put("kept", numbered(1));
  trial.fill(trial.claim("t", "k", "f"), "1");
  trial.require_ok(trial.saver().remove("t"), "remove");
  trial.require(!trial.get("t") && !trial.get("t", old.id) && trial.list("t").empty(),
                "a removed thread has no checkpoints");
  const auto steps = trial.saver().list_steps("t");
  trial.require(steps && steps->empty(), "a removed thread has no steps");
  trial.require_state(trial.get("kept"), numbered(1), "another thread");
  trial.put("t", window(5, 25));
  trial.require_state(trial.get("t"), window(5, 25), "a thread that began anew");
  trial.require(trial.list("t").size() == 1, "a thread that began anew has one checkpoint");
  trial.claim("t", "k", "another");
  trial.require_ok(trial.saver().remove("nobody"), "removing a thread that is not there");
}

void goes_on_from_older(Trial& trial) {
  const auto one = trial.put("t", window(0, 20));
  const auto two = trial.put("t", window(0, 30));
  const auto three = trial.put("t", window(10, 24), one.id);
  trial.require_state(trial.get("t"), window(10, 24), "the latest, which left the line");
  trial.put("t", window(10, 26));
  trial.require_state(trial.get("t"), window(10, 26), "a put after one that left the line");
  trial.require_state(trial.get("t", two.id), window(0, 30), "what was left behind");
  trial.put("t", window(0, 31), two.id);
  trial.require_state(trial.get("t"), window(0, 31), "a put on what was left behind");
  trial.require_state(trial.get("t", three.id), window(10, 24), "the first that left the line");
  const auto listed = trial.list("t");
  trial.require(listed.size() == 5 && listed[1].parent_id == std::nullopt &&
                    listed[2].id == three.id && listed[3].id == two.id,
                "the order is that of the puts, whatever they go on from");
}

void unknown_parent(Trial& trial) {
  trial.require_code(trial.saver().put("t", json("{}"), ""), ErrorCode::not_found,
                     "a first put on a parent that is not there");
  trial.put("t", numbered(1));
  trial.require_code(trial.saver().put("t", json(numbered(2)), "no such id"), ErrorCode::not_found,
                     "a put on a parent that is not there");
  trial.require_state(trial.get("t"), numbered(1), "after a put that was refused");
}

void every_state_stays(Trial& trial) {
  std::vector<std::string> ids;
  std::vector<std::string> states;
  for (int i = 0; i < 60; ++i) {
    states.push_back(window(i < 30 ? 0 : (i - 30) * 2, i * 2 + 1));
    ids.push_back(trial.put("t", states.back()).id);
  }
  for (std::size_t i = 0; i < ids.size(); ++i) {
    trial.require_state(trial.get("t", ids[i]), states[i], "a list that grows, then slides");
  }
  const auto listed = trial.list("t", {}, 60);
  for (std::size_t i = 0; i < listed.size(); ++i) {
    trial.require_state(listed[i], states[states.size() - 1 - i], "the same, listed");
  }
}

void many_at_once(Trial& trial) {
  constexpr std::size_t writers = 4;
  constexpr int puts = 10;
  const int failures = failures_at_once(writers, [&] {
    bool are_put = true;
    for (int i = 0; i < puts; ++i) are_put = trial.saver().put("t", json(numbered(i))) && are_put;
    return are_put;
  });
  trial.require(failures == 0, "puts from several threads succeed");
  std::set<std::string> ids;
  const auto listed = trial.list("t", {}, 1000);
  for (const auto& checkpoint : listed) ids.insert(checkpoint.id);
  trial.require(ids.size() == writers * puts, "puts from several threads are all there");
}

void bad_thread_id(Trial& trial) {
  for (const std::string& id : {std::string(), std::string("a\nb"), std::string(5000, 'x')}) {
    trial.require_code(trial.saver().put(id, json("{}")), ErrorCode::invalid_argument,
                       "a put under a bad thread id");
    trial.require_code(trial.saver().get(id), ErrorCode::invalid_argument,
                       "a get under a bad thread id");
  }
}

}  // namespace

std::vector<SaverCheck> saver_checks() {
  return {
      check_of("AThreadWithoutPutsIsEmpty", unknown_thread),
      check_of("AStateComesBackEqual", state_comes_back),
      check_of("TheLatestIsTheLastPut", latest),
      check_of("ACheckpointIsFoundByItsId", found_by_id),
      check_of("MetadataAndParentComeBack", metadata_comes_back),
      check_of("OnlyObjectsAreTaken", only_objects),
      check_of("ListIsNewestFirst", newest_first),
      check_of("LimitIsAHardCap", limit_is_a_cap),
      check_of("BeforeIsStrictlyEarlier", before_is_strict),
      check_of("ThreadsAreApart", threads_are_apart),
      check_of("RemoveForgetsTheThread", remove_forgets),
      check_of("APutGoesOnFromAnOlderCheckpoint", goes_on_from_older),
      check_of("AnUnknownParentIsRefused", unknown_parent),
      check_of("EveryStateStaysAsItWas", every_state_stays),
      check_of("PutsFromManyThreadsAreAllThere", many_at_once),
      check_of("ABadThreadIdIsRefused", bad_thread_id),
      check_of("AStepIsClaimedOnce", claimed_once),
      check_of("AFilledStepIsReplayed", filled_is_replayed),
      check_of("AStepIsBoundToItsRequest", bound_to_its_request),
      check_of("AReleasedStepIsFree", released_is_free),
      check_of("AClaimThatEndedFillsNothing", ended_claim_fills_nothing),
      check_of("StepsAreListedInTheOrderOfFilling", listed_in_order),
      check_of("StepsOutliveCheckpoints", outlive_checkpoints),
      check_of("EveryOfManyStepsIsFound", every_step_is_found),
      check_of("OfManyOneGetsTheStep", one_of_many),
      check_of("ABadNameOfAStepIsRefused", bad_names),
  };
}

}  // namespace perdure
