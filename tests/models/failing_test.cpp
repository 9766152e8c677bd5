// Requests that fail before a response begins, responses that stall, and callers that stop.

#include <chrono>
#include <gtest/gtest.h>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "doubles/fake_clock.hpp"
#include "doubles/free_port.hpp"
#include "doubles/full_port.hpp"
#include "models/client.hpp"
#include "models/model_server.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/state.hpp"

namespace perdure::models {
namespace {

using namespace std::chrono_literals;

class Failing : public testing::TestWithParam<Format> {
 protected:
  ModelOutcome ask_for(const std::string& behaviour, const HttpProviderOptions& with = options()) {
    return ask(*GetParam().make(server.url(behaviour), with, services()), listener);
  }

  ModelServer server;
  Listener listener;
};

bool is_told(const std::string& text, std::string_view words) {
  return text.find(words) != std::string::npos;
}

TEST_P(Failing, WhatTheProviderRefusesFailsAtOnceInItsWords) {
  for (const int status : {400, 401, 403, 404, 413, 422}) {
    const ModelOutcome outcome = ask_for("status-" + std::to_string(status));
    const auto& failed = std::get<NotAnswered>(outcome);
    EXPECT_EQ(failed.error.code,
              status == 404 ? ErrorCode::not_found : ErrorCode::invalid_argument);
    EXPECT_TRUE(is_told(failed.error.message, std::to_string(status) + ": some_error: no, not"));
    EXPECT_EQ(failed.error.subject, "req_9");
    EXPECT_EQ(failed.status, status);
    EXPECT_EQ(failed.attempts, 1);
    EXPECT_FALSE(failed.may_be_paid);
  }
  EXPECT_EQ(server.requests().size(), 6U);
  EXPECT_TRUE(listener.waits.empty());
}

TEST_P(Failing, AKeyThatTheProviderQuotesIsNotPassedOn) {
  const ModelOutcome outcome = ask_for("status-401");
  const std::string& message = std::get<NotAnswered>(outcome).error.message;
  EXPECT_FALSE(is_told(message, planted_key));
  EXPECT_TRUE(is_told(message, "[key]")) << message;
}

TEST_P(Failing, ABusyProviderIsAskedAgainWhenItSays) {
  const ModelOutcome outcome = ask_for("busy-2");
  EXPECT_TRUE(std::holds_alternative<ModelResponse>(outcome));
  ASSERT_EQ(listener.waits.size(), 2U);
  for (const Duration wait : listener.waits) EXPECT_GE(wait, 375ms) << "it wants none";
  EXPECT_EQ(server.requests().size(), 3U);
  EXPECT_EQ(server.requests().front().body, server.requests().back().body);
}

TEST_P(Failing, AnOverloadedProviderIsAskedAgainAfterLongerAndLongerWaits) {
  const ModelOutcome outcome = ask_for("overloaded-3");
  EXPECT_TRUE(std::holds_alternative<ModelResponse>(outcome));
  ASSERT_EQ(listener.waits.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    const Duration longest = 500ms * (1 << i);
    EXPECT_LE(listener.waits[i], longest);
    EXPECT_GE(listener.waits[i], longest * 3 / 4);
  }
}

TEST_P(Failing, AnErrorInThePlaceOfAResponseIsRepeatedAsARefusalIs) {
  const ModelOutcome outcome = ask_for("refused-2");
  EXPECT_TRUE(std::holds_alternative<ModelResponse>(outcome));
  ASSERT_EQ(listener.waits.size(), 2U);
  EXPECT_GE(listener.waits[1], 750ms);
  EXPECT_EQ(server.requests().size(), 3U);

  HttpProviderOptions brief = options();
  brief.retry.total = 0ms;
  const ModelOutcome refused = ask_for("refused-9", brief);
  const auto& failed = std::get<NotAnswered>(refused);
  EXPECT_TRUE(is_told(failed.error.message, "overloaded_error: Overloaded"));
  EXPECT_FALSE(failed.may_be_paid);
}

TEST_P(Failing, WhatTheProviderWantsToBeWaitedForIsWaitedFor) {
  const ModelOutcome outcome = ask_for("later-2");
  EXPECT_TRUE(std::holds_alternative<ModelResponse>(outcome));
  EXPECT_EQ(listener.waits, (std::vector<Duration>{7s, 7s}));
}

TEST_P(Failing, AfterACutOffTheNextRequestWaits) {
  FakeClock clock;
  std::vector<Duration> waited;
  const ModelServices fake{
      .clock = clock, .ids = random_ids(), .wait = [&](Duration wait, const std::stop_token&) {
        waited.push_back(wait);
        return true;
      }};
  const auto provider = GetParam().make(server.url("cut-2500"), options(), fake);
  for (int time = 0; time < 3; ++time) {
    EXPECT_TRUE(std::holds_alternative<CutOff>(ask(*provider, listener)));
  }
  ASSERT_EQ(waited.size(), 2U);
  EXPECT_GE(waited[0], 375ms);
  EXPECT_GE(waited[1], 750ms);
  EXPECT_EQ(listener.waits, waited);

  clock.advance(1h);
  EXPECT_TRUE(std::holds_alternative<CutOff>(ask(*provider, listener)));
  EXPECT_EQ(waited.size(), 2U) << "time has passed by itself";
}

TEST_P(Failing, RepetitionHasATotalTime) {
  for (const int status : {500, 502, 503, 529}) {
    FakeClock clock;
    Listener told;
    const ModelServices fake{
        .clock = clock, .ids = random_ids(), .wait = [&](Duration wait, const std::stop_token&) {
          clock.advance(wait);
          return true;
        }};
    const std::string url = server.url("status-" + std::to_string(status));
    const ModelOutcome outcome = ask(*GetParam().make(url, options(), fake), told);
    const auto& failed = std::get<NotAnswered>(outcome);
    EXPECT_EQ(failed.error.code, ErrorCode::unavailable);
    EXPECT_EQ(failed.attempts, static_cast<int>(told.waits.size()) + 1);
    Duration total{};
    for (const Duration wait : told.waits) total += wait;
    EXPECT_LE(total, 5min);
    EXPECT_GE(total, 4min);
  }
}

TEST_P(Failing, AServerThatIsNotThereIsAskedAgainAndCostsNothing) {
  HttpProviderOptions brief = options();
  brief.retry.total = 0ms;
  const std::string nobody = "http://127.0.0.1:" + std::to_string(free_port()) + "/whole";
  const ModelOutcome outcome = ask(*GetParam().make(nobody, brief, services()), listener);
  const auto& failed = std::get<NotAnswered>(outcome);
  EXPECT_EQ(failed.error.code, ErrorCode::unavailable);
  EXPECT_FALSE(failed.may_be_paid);
  EXPECT_EQ(failed.attempts, 1);

  brief.retry = {.first_wait = 1ms, .wait_max = 1ms, .total = 1h};
  int waits = 0;
  ModelServices few = services();
  few.wait = [&](Duration, const std::stop_token&) { return ++waits < 3; };
  const ModelOutcome stopped = ask(*GetParam().make(nobody, brief, few), listener);
  EXPECT_TRUE(std::get<NotAnswered>(stopped).was_stopped);
  EXPECT_EQ(std::get<NotAnswered>(stopped).attempts, 3);
}

TEST_P(Failing, ARequestThatWasSentAndNeverAnsweredIsNotRepeated) {
  const ModelOutcome outcome = ask_for("drop");
  const auto& failed = std::get<NotAnswered>(outcome);
  EXPECT_EQ(failed.error.code, ErrorCode::unavailable);
  EXPECT_TRUE(failed.may_be_paid);
  EXPECT_EQ(failed.attempts, 1);
  EXPECT_EQ(server.requests().size(), 1U);
}

TEST_P(Failing, NorIsOneThatWasLostOnAConnectionInUse) {
  const auto provider = GetParam().make(server.url("tired-1"), options(), services());
  EXPECT_TRUE(std::holds_alternative<ModelResponse>(ask(*provider, listener)));
  const ModelOutcome outcome = ask(*provider, listener);
  EXPECT_TRUE(std::get<NotAnswered>(outcome).may_be_paid);
  ASSERT_EQ(server.requests().size(), 2U);
  EXPECT_EQ(server.requests().back().connection, 1);
}

TEST_P(Failing, AFirstByteThatDoesNotComeIsNotWaitedForForEver) {
  HttpProviderOptions hasty = options();
  hasty.timeouts.first_byte = 30ms;
  const ModelOutcome outcome = ask_for("silent", hasty);
  const auto& failed = std::get<NotAnswered>(outcome);
  EXPECT_TRUE(is_told(failed.error.message, "nothing came for 30 ms"));
  EXPECT_TRUE(failed.may_be_paid);
  EXPECT_TRUE(server.wait_for_request());
  EXPECT_EQ(server.requests().size(), 1U);
}

TEST_P(Failing, AStreamThatStallsIsCutOff) {
  HttpProviderOptions hasty = options();
  hasty.timeouts.idle = 30ms;
  const ModelOutcome outcome = ask_for("stall-2500", hasty);
  const auto& cut = std::get<CutOff>(outcome);
  EXPECT_EQ(cut.error.message, "nothing came for 30 ms");
  EXPECT_FALSE(text_of(cut.so_far.message).empty());
  EXPECT_FALSE(cut.was_stopped);
}

// Every piece of a response takes its time.
class Dripping final : public ModelObserver {
 public:
  explicit Dripping(FakeClock& clock) : clock_(clock) {}
  void on_text(std::string_view) override { clock_.advance(20ms); }

 private:
  FakeClock& clock_;
};

TEST_P(Failing, AStreamThatOnlyDripsIsWaitedForAsLongAsItDoes) {
  FakeClock clock;
  Dripping observer(clock);
  HttpProviderOptions hasty = options();
  hasty.timeouts.idle = 30ms;
  const Uptime begin = clock.uptime();
  const auto provider =
      GetParam().make(server.url("pieces-64"), hasty, {.clock = clock, .ids = random_ids()});

  EXPECT_TRUE(std::holds_alternative<ModelResponse>(ask(*provider, observer)));

  EXPECT_GE(clock.uptime() - begin, 3 * hasty.timeouts.idle);
}

TEST_P(Failing, AConnectionThatIsNotTakenIsNotWaitedForForEver) {
  const FullPort full;
  HttpProviderOptions hasty = options();
  hasty.timeouts.connect = 50ms;
  hasty.retry.total = 0ms;
  const std::string url = "http://127.0.0.1:" + std::to_string(full.port()) + "/whole";

  const Uptime begin = system_clock().uptime();
  const ModelOutcome outcome = ask(*GetParam().make(url, hasty, services()), listener);

  const auto& failed = std::get<NotAnswered>(outcome);
  EXPECT_EQ(failed.error.code, ErrorCode::unavailable);
  EXPECT_FALSE(failed.may_be_paid);
  EXPECT_LT(system_clock().uptime() - begin, 30s) << "the system gives up after a minute or two";
}

TEST_P(Failing, AServerThatIsNotThereIsToldWithWhatToLookAt) {
  const std::string port = std::to_string(free_port());
  HttpProviderOptions brief = options();
  brief.retry.total = 0ms;

  const ModelOutcome outcome =
      ask(*GetParam().make("http://127.0.0.1:" + port, brief, services()), listener);

  const auto& failed = std::get<NotAnswered>(outcome);
  EXPECT_EQ(failed.error.code, ErrorCode::unavailable);
  EXPECT_FALSE(failed.may_be_paid);
  EXPECT_TRUE(is_told(failed.error.message, port)) << failed.error.message;
  EXPECT_TRUE(is_told(failed.error.message, "tried once")) << failed.error.message;
  EXPECT_TRUE(is_told(failed.error.message, "is base_url its address?")) << failed.error.message;
}

TEST_P(Failing, AStopEndsTheWaitForAnAnswer) {
  const auto provider = GetParam().make(server.url("silent"), options(), services());
  std::stop_source stop;
  const std::jthread stopper([&] {
    EXPECT_TRUE(server.wait_for_request());
    stop.request_stop();
  });
  const Uptime begin = system_clock().uptime();
  const ModelOutcome outcome = ask(*provider, listener, stop.get_token());
  EXPECT_TRUE(std::get<NotAnswered>(outcome).was_stopped);
  EXPECT_TRUE(std::get<NotAnswered>(outcome).may_be_paid);
  EXPECT_LT(system_clock().uptime() - begin, 2min);
}

TEST_P(Failing, WhatWasStoppedBeforeItBeganIsNotSent) {
  const auto provider = GetParam().make(server.url("whole"), options(), services());
  std::stop_source stop;
  stop.request_stop();
  const ModelOutcome outcome = ask(*provider, listener, stop.get_token());
  EXPECT_TRUE(std::get<NotAnswered>(outcome).was_stopped);
  EXPECT_FALSE(std::get<NotAnswered>(outcome).may_be_paid);
  EXPECT_TRUE(server.requests().empty());
}

// Stops as soon as it hears anything.
class Impatient final : public ModelObserver {
 public:
  explicit Impatient(std::stop_source stop) : stop_(std::move(stop)) {}
  void on_text(std::string_view) override { stop_.request_stop(); }

 private:
  std::stop_source stop_;
};

TEST_P(Failing, AStopInTheMiddleKeepsWhatCame) {
  const auto provider = GetParam().make(server.url("stall-2500"), options(), services());
  const std::stop_source stop;
  Impatient observer(stop);
  const ModelOutcome outcome = ask(*provider, observer, stop.get_token());
  const auto& cut = std::get<CutOff>(outcome);
  EXPECT_TRUE(cut.was_stopped);
  EXPECT_TRUE(cut.so_far.message.is_partial);
  EXPECT_FALSE(text_of(cut.so_far.message).empty());
}

TEST_P(Failing, AStopWhileItWaitsToRepeatIsHeardByTheMachinesOwnWait) {
  const ModelServices real{.clock = system_clock(), .ids = random_ids()};
  HttpProviderOptions slow = options();
  slow.retry = {.first_wait = 1h, .wait_max = 1h, .total = 2h};
  const auto provider = GetParam().make(server.url("status-500"), slow, real);
  std::stop_source stop;
  const std::jthread stopper([&] {
    EXPECT_TRUE(server.wait_for_request());
    stop.request_stop();
  });
  const ModelOutcome outcome = ask(*provider, listener, stop.get_token());
  EXPECT_TRUE(std::get<NotAnswered>(outcome).was_stopped);
}

TEST_P(Failing, AConnectionIsUsedAgain) {
  const auto provider = GetParam().make(server.url("whole"), options(), services());
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(std::holds_alternative<ModelResponse>(ask(*provider, listener)));
  }
  ASSERT_EQ(server.requests().size(), 3U);
  EXPECT_EQ(server.requests().back().connection, 1);
}

TEST_P(Failing, NothingIsSentThatWasNotPrepared) {
  const auto provider = GetParam().make(server.url("whole"), options(), services());
  const ModelOutcome outcome = provider->send(listener, {});
  EXPECT_EQ(std::get<NotAnswered>(outcome).error.code, ErrorCode::invalid_argument);
  EXPECT_TRUE(server.requests().empty());
}

INSTANTIATE_TEST_SUITE_P(EveryFormat, Failing, testing::ValuesIn(formats()),
                         [](const auto& format) { return format.param.name; });

TEST(PlainConnections, AreForThisMachineOrForNoKey) {
  HttpProviderOptions http = options();
  http.base_url = "http://192.0.2.1:8000/v1";
  const auto refused = make_chat_completions({.http = http}, services());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
  http.key = {};
  EXPECT_TRUE(make_chat_completions({.http = http}, services()));
}

}  // namespace
}  // namespace perdure::models
