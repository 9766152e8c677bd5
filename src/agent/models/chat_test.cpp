// Chat Completions: what compatible servers make of the format, and what goes back to them.

#include <gtest/gtest.h>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "doubles/must.hpp"
#include "models/dialect.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/state.hpp"
#include "runtime/api/records.hpp"

namespace perdure {
namespace {

ModelResponse read_chat(const std::vector<std::string>& events) {
  ModelObserver nobody;
  const auto stream = chat_dialect({})->open(nobody);
  for (const std::string& event : events)
    EXPECT_TRUE(stream->take({.name = "", .data = event})) << event;
  return stream->finish();
}

std::string chunk(const std::string& members, const std::string& finish = "null") {
  return R"({"id":"x","model":"m","choices":[{"index":0,"delta":{)" + members +
         R"(},"finish_reason":)" + finish + "}]}";
}

const std::string finished = chunk("", R"("stop")");

std::vector<ToolCallBlock> calls_of(const ModelResponse& response) {
  std::vector<ToolCallBlock> calls;
  for (const Block& block : response.message.blocks) {
    if (const auto* call = std::get_if<ToolCallBlock>(&block)) calls.push_back(*call);
  }
  return calls;
}

TEST(Chat, KnowsEveryReasonToFinish) {
  using Pair = std::pair<std::string, StopReason>;
  for (const auto& [word, reason] :
       {Pair{"stop", StopReason::end}, Pair{"length", StopReason::length},
        Pair{"content_filter", StopReason::refusal},
        Pair{"insufficient_system_resource", StopReason::other}}) {
    const auto response = read_chat({chunk(R"("content":"a")"), chunk("", "\"" + word + "\"")});
    EXPECT_EQ(response.stop, reason) << word;
    EXPECT_EQ(response.stop_text, word);
  }
}

TEST(Chat, CallsCountWhateverTheServerCallsItsReason) {
  const auto response = read_chat(
      {chunk(R"("tool_calls":[{"index":0,"id":"a","function":{"name":"n","arguments":"{}"}}])"),
       finished});
  EXPECT_EQ(response.stop, StopReason::calls);
  EXPECT_EQ(response.stop_text, "stop");
}

TEST(Chat, PiecesOfCallsAreJoinedByTheirIndex) {
  const auto calls = calls_of(read_chat(
      {chunk(
           R"("tool_calls":[{"index":1,"id":"b","function":{"name":"two"}},{"index":0,"id":"a","function":{"name":"one","arguments":"{\"x\""}}])"),
       chunk(R"("tool_calls":[{"index":0,"function":{"arguments":": 1}"}}])"),
       chunk(R"("tool_calls":[{"index":1,"function":{"arguments":"{ }"}}])"), finished}));
  EXPECT_EQ(calls, (std::vector<ToolCallBlock>{{.id = "a", .name = "one", .args = R"({"x": 1})"},
                                               {.id = "b", .name = "two", .args = "{ }"}}));
}

TEST(Chat, WholeCallsWithoutIndexOrIdAreCallsToo) {
  const auto calls = calls_of(read_chat(
      {chunk(
           R"("tool_calls":[{"function":{"name":"one","arguments":"{}"}},{"function":{"name":"two","arguments":{"a": [1]}}}])"),
       finished}));
  EXPECT_EQ(calls,
            (std::vector<ToolCallBlock>{{.id = "call_0", .name = "one", .args = "{}"},
                                        {.id = "call_1", .name = "two", .args = R"({"a": [1]})"}}));
}

TEST(Chat, PiecesWithoutAnIndexGoOnUntilANewId) {
  const auto calls = calls_of(read_chat(
      {chunk(R"("tool_calls":[{"id":"a","function":{"name":"one","arguments":"{"}}])"),
       chunk(R"("tool_calls":[{"function":{"arguments":"}"}}])"),
       chunk(R"("tool_calls":[{"id":"b","function":{"name":"two","arguments":""}}])"), finished}));
  EXPECT_EQ(calls, (std::vector<ToolCallBlock>{{.id = "a", .name = "one", .args = "{}"},
                                               {.id = "b", .name = "two", .args = "{}"}}));
}

// The deltas of one response, each a list of calls.
std::vector<ToolCallBlock> calls_in(const std::vector<std::string>& lists) {
  std::vector<std::string> events;
  for (const std::string& list : lists) events.push_back(chunk("\"tool_calls\":[" + list + "]"));
  events.push_back(finished);
  return calls_of(read_chat(events));
}

const std::vector<ToolCallBlock> two_calls = {{.id = "a", .name = "one", .args = R"({"x":1})"},
                                              {.id = "b", .name = "two", .args = R"({"y":2})"}};

TEST(Chat, PiecesOfParallelCallsWithoutAnIndexAreToldApartByTheirIds) {
  const std::string a = R"({"id":"a","function":{"arguments":)";
  const std::string b = R"({"id":"b","function":{"arguments":)";
  const std::string begin_a = R"({"id":"a","function":{"name":"one","arguments":""}})";
  const std::string begin_b = R"({"id":"b","function":{"name":"two","arguments":""}})";
  EXPECT_EQ(calls_in({begin_a, begin_b, a + R"("{\"x\""}})", b + R"("{\"y\""}})", a + R"(":1}"}})",
                      b + R"(":2}"}})"}),
            two_calls);
  EXPECT_EQ(calls_in({begin_a + "," + begin_b, a + R"("{\"x\""}},)" + b + R"("{\"y\""}})",
                      b + R"(":2}"}},)" + a + R"(":1}"}})"}),
            two_calls)
      << "many in one delta";
  EXPECT_EQ(calls_in({begin_a, begin_b, a + R"("{\"x\""}})", R"({"function":{"arguments":":1}"}})",
                      b + R"("{\"y\":2}"}})"}),
            two_calls)
      << "a piece without an id is of the call that was spoken of last";
}

TEST(Chat, AnIdThatIsRepeatedWithEachPieceIsTheSameCall) {
  const auto piece = [](const std::string& place, const std::string& id, const std::string& name,
                        const std::string& args) {
    return "{" + place + R"("id":)" + id + R"(,"function":{"name":")" + name +
           R"(","arguments":")" + args + "\"}}";
  };
  for (const std::string zero : {R"("index":0,)", ""}) {
    for (const std::string one : {R"("index":1,)", R"("index":0,)", ""}) {
      if (zero.empty() != one.empty()) continue;
      EXPECT_EQ(calls_in({piece(zero, R"("a")", "one", R"({\"x\")"),
                          piece(one, R"("b")", "two", R"({\"y\")"),
                          piece(zero, R"("a")", "one", ":1}"), piece(one, R"("b")", "two", ":2}")}),
                two_calls)
          << zero << one;
    }
  }
  for (const std::string none : {R"("")", "null"}) {
    EXPECT_EQ(calls_in({piece(R"("index":0,)", R"("a")", "one", ""),
                        piece(R"("index":1,)", R"("b")", "two", ""),
                        piece(R"("index":0,)", none, "", R"({\"x\":1})"),
                        piece(R"("index":1,)", none, "", R"({\"y\":2})")}),
              two_calls)
        << "an empty id is none";
    EXPECT_EQ(calls_in({piece("", R"("a")", "one", R"({\"x\")"), piece("", none, "", ":1}"),
                        piece("", R"("b")", "two", R"({\"y\":2})")}),
              two_calls);
  }
}

TEST(Chat, OneIdForTwoCallsMakesTwoWhereTheirNamesOrIndexesDiffer) {
  const std::vector<ToolCallBlock> both = {{.id = "a", .name = "one", .args = "{}"},
                                           {.id = "a", .name = "two", .args = "{}"}};
  const std::string one = R"("id":"a","function":{"name":"one","arguments":"{}"}})";
  const std::string two = R"("id":"a","function":{"name":"two","arguments":"{}"}})";
  EXPECT_EQ(calls_in({"{" + one, "{" + two}), both);
  EXPECT_EQ(calls_in({R"({"index":0,)" + one, R"({"index":1,)" + two}), both);
}

TEST(Chat, ACallWithoutAnIdGetsOneThatNoOtherHas) {
  const auto calls = calls_in({R"({"index":0,"id":"call_1","function":{"name":"one"}})",
                               R"({"index":1,"function":{"name":"two"}})"});
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_EQ(calls[0].id, "call_1");
  EXPECT_EQ(calls[1].id, "call_1_");
}

TEST(Chat, MembersThatAreThereTwiceCountAsOne) {
  const auto calls =
      calls_of(read_chat({chunk(R"("tool_calls":[{"function":{"name":"one"}},{},{}],)"
                                R"("tool_calls":[{"id":"b","function":{"name":"two"}}])"),
                          finished}));
  ASSERT_EQ(calls.size(), 1U) << "the last, as everywhere";
  EXPECT_EQ(calls[0].name, "two");
}

TEST(Chat, ReasoningGoesBackInItsField) {
  for (const std::string field : {"reasoning_content", "reasoning"}) {
    const auto response =
        read_chat({chunk("\"" + field + R"(":"Hm ")"), chunk("\"" + field + R"(":"so.")"),
                   chunk(R"("content":"a")"), finished});
    const Message stored = message_from_json(to_json(response.message)).value();
    EXPECT_EQ(chat_dialect({})->message(stored, false),
              R"({"role":"assistant","content":"a",")" + field + R"(":"Hm so."})");
    ChatOptions silent;
    silent.sends_reasoning = false;
    EXPECT_EQ(chat_dialect(silent)->message(stored, false),
              R"({"role":"assistant","content":"a"})");
  }
}

TEST(Chat, DetailsOfReasoningGoBackAsTheyCame) {
  const auto response = read_chat(
      {chunk(R"("reasoning":"Hm","reasoning_details":[{"type":"reasoning.text", "text":"Hm"}])"),
       chunk(R"("reasoning_details":[{"type":"reasoning.encrypted","data":"E\/="}])"),
       chunk(R"("content":"a")"), finished});
  EXPECT_EQ(
      chat_dialect({})->message(response.message, false),
      R"({"role":"assistant","content":"a","reasoning":"Hm","reasoning_details":[{"type":"reasoning.text", "text":"Hm"},{"type":"reasoning.encrypted","data":"E\/="}]})");
}

TEST(Chat, WhatAServerAddsToACallGoesBackWithIt) {
  const auto response = read_chat(
      {chunk(
           R"("tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"n","arguments":"{}"},"extra_content":{"google":{"thought_signature":"S\/"}}}])"),
       finished});
  EXPECT_EQ(
      chat_dialect({})->message(response.message, false),
      R"({"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"n","arguments":"{}"},"extra_content":{"google":{"thought_signature":"S\/"}}}]})");
}

TEST(Chat, ARefusalIsTextThatGoesBackAsOne) {
  const auto response = read_chat({chunk(R"("refusal":"I will not.")"), finished});
  EXPECT_EQ(response.stop, StopReason::refusal);
  EXPECT_EQ(response.stop_text, "stop: I will not.");
  EXPECT_EQ(text_of(response.message), "I will not.");
  EXPECT_EQ(chat_dialect({})->message(response.message, false),
            R"({"role":"assistant","content":null,"refusal":"I will not."})");
}

TEST(Chat, UsageHoldsWhatWasCached) {
  const auto response = read_chat(
      {finished,
       R"({"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":20,"prompt_tokens_details":{"cached_tokens":60,"cache_write_tokens":30},"completion_tokens_details":{"reasoning_tokens":7}}})",
       "[DONE]"});
  EXPECT_EQ(response.usage, (ModelUsage{.is_known = true,
                                        .tokens_in = 100,
                                        .tokens_out = 20,
                                        .cache_read = 60,
                                        .cache_write = 30,
                                        .reasoning = 7}));
}

TEST(Chat, AServerThatDoesNotCountSaysNothing) {
  const auto response = read_chat({chunk(R"("content":"a")"), finished, "[DONE]"});
  EXPECT_EQ(response.usage, ModelUsage{});
  EXPECT_FALSE(response.message.is_partial);
}

TEST(Chat, CallsThatAllHaveOneIndexAreToldApartByTheirIds) {
  const auto response = read_chat(
      {chunk(
           R"("tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"n\":1}"}}])"),
       chunk(R"("tool_calls":[{"index":0,"id":"b","function":{"name":"g","arguments":"{\"n\""}}])"),
       chunk(R"("tool_calls":[{"index":0,"function":{"arguments":":2}"}}])"), finished});
  const auto calls = calls_of(response);
  ASSERT_EQ(calls.size(), 2U);
  EXPECT_EQ(calls[0].args, R"({"n":1})");
  EXPECT_EQ(calls[1].name, "g");
  EXPECT_EQ(calls[1].args, R"({"n":2})");
}

TEST(Chat, WhatIsNotCountedIsNotKnown) {
  for (const char* const usage :
       {R"({})", R"({"prompt_tokens":100})", R"({"completion_tokens":5})",
        R"({"prompt_tokens":-1,"completion_tokens":5})",
        R"({"prompt_tokens":100.5,"completion_tokens":5})", R"({"total_tokens":7})"}) {
    const std::string event = std::string(R"({"choices":[],"usage":)") + usage + "}";
    EXPECT_FALSE(read_chat({finished, event, "[DONE]"}).usage.is_known) << usage;
  }
}

TEST(Chat, WhatIsCountedOnTheWayIsNotAll) {
  const auto response = read_chat(
      {R"({"choices":[{"index":0,"delta":{"content":"a"}}],"usage":{"prompt_tokens":9,"completion_tokens":1}})"});
  EXPECT_TRUE(response.message.is_partial);
  EXPECT_FALSE(response.usage.is_known);
  EXPECT_EQ(response.usage.tokens_in, 9);
}

TEST(Chat, WithoutAReasonToFinishAResponseIsPartial) {
  EXPECT_TRUE(read_chat({chunk(R"("content":"a")")}).message.is_partial);
  EXPECT_FALSE(read_chat({chunk(R"("content":"a")"), "[DONE]"}).message.is_partial);
}

TEST(Chat, ABrokenLetterCostsNoResponse) {
  const auto response =
      read_chat({chunk("\"content\":\"a\xE2\x82\""), chunk(R"("content":"é")"),
                 chunk("\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"n\","
                       "\"arguments\":{\"x\": \"\xFF\"}}}]"),
                 finished});
  EXPECT_EQ(text_of(response.message), "a\xEF\xBF\xBDé");
  ASSERT_EQ(calls_of(response).size(), 1U);
  EXPECT_EQ(calls_of(response).front().args, "{\"x\": \"\xEF\xBF\xBD\"}");
  EXPECT_FALSE(response.message.is_partial);
}

TEST(Chat, AnErrorIsToldInItsWords) {
  using Pair = std::pair<std::string_view, std::string_view>;
  for (const auto& [data, words] :
       {Pair{R"({"error":{"message":"too long","type":"x","code":400}})", "x: too long"},
        Pair{R"({"error":"out of memory"})", "out of memory"},
        Pair{R"({"error":{"message":"m"}})", "m"}}) {
    ModelObserver nobody;
    const auto stream = chat_dialect({})->open(nobody);
    const auto taken = stream->take({.name = "", .data = data});
    ASSERT_FALSE(taken);
    EXPECT_EQ(taken.error().message, words);
  }
}

TEST(Chat, TheHeadHasToolsAndTheSystemPrompt) {
  perdure::Setup setup;
  setup.model = "m";
  setup.system_prompt = "S";
  setup.tools.push_back({.name = "one", .description = "1"});
  ChatOptions options;
  options.system_role = "developer";
  EXPECT_EQ(*chat_dialect(options)->head(setup),
            R"({"model":"m","stream":true,"stream_options":{"include_usage":true},"tools":[)"
            R"({"type":"function","function":{"name":"one","description":"1","parameters":{}}}],)"
            R"("messages":[{"role":"developer","content":"S"})");
}

TEST(Chat, WhereMoneyIsLimitedAResponseIsHeldToWhatWasReckonedWith) {
  perdure::Setup setup;
  setup.model = "m";
  ChatOptions options;
  EXPECT_EQ(chat_dialect(options)->cap(setup), R"("max_completion_tokens":8192)");
  options.http.base_url = "http://127.0.0.1:8080/v1";
  EXPECT_EQ(chat_dialect(options)->cap(setup), R"("max_tokens":8192)");
  options.cap_parameter = "n_predict";
  EXPECT_EQ(chat_dialect(options)->cap(setup), R"("n_predict":8192)");

  const auto dialect = chat_dialect(options);
  RequestBody body(*dialect);
  ASSERT_TRUE(body.update({.setup = setup, .is_capped = true}));
  EXPECT_TRUE(body.parts().front().starts_with(R"({"n_predict":8192,"model":"m")"));
  ASSERT_TRUE(body.update({.setup = setup}));
  EXPECT_TRUE(body.parts().front().starts_with(R"({"model":"m")"));

  setup.parameters = must(RawJson::from_text(R"({"max_tokens": 5})"));
  EXPECT_EQ(chat_dialect(options)->cap(setup), "") << "the setup says it";
  setup.parameters = must(RawJson::from_text(R"({"n_predict": 5})"));
  EXPECT_EQ(chat_dialect(options)->cap(setup), "") << "and in the server's own word";
}

TEST(Chat, ResultsAreMessagesOfTheirOwnBeforeTheText) {
  Message message;
  message.blocks.emplace_back(ToolResultBlock{.call_id = "a", .content = "1"});
  message.blocks.emplace_back(ToolResultBlock{.call_id = "b"});
  message.blocks.emplace_back(TextBlock{.text = "and"});
  message.blocks.emplace_back(TextBlock{.text = "more"});
  EXPECT_EQ(chat_dialect({})->message(message, false),
            R"({"role":"tool","tool_call_id":"a","content":"1"},)"
            R"({"role":"tool","tool_call_id":"b","content":""},)"
            R"({"role":"user","content":"and\nmore"})");
}

}  // namespace
}  // namespace perdure
