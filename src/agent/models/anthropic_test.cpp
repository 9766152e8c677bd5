// Anthropic's format: every kind of event and block, what goes back, and where the cache is marked.

#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "models/dialect.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/state.hpp"
#include "runtime/api/records.hpp"

namespace perdure {
namespace {

// Reads events without names, as data alone.
ModelResponse read(const std::vector<std::string>& events) {
  ModelObserver nobody;
  const auto stream = anthropic_dialect({})->open(nobody);
  for (const std::string& event : events) {
    const auto taken = stream->take({.name = "", .data = event});
    EXPECT_TRUE(taken) << event;
  }
  return stream->finish();
}

std::string begun(const std::string& block) {
  return R"({"type":"content_block_start","index":0,"content_block":)" + block + "}";
}

std::string delta(const std::string& members) {
  return R"({"type":"content_block_delta","index":0,"delta":{)" + members + "}}";
}

std::string stopped(const std::string& members) {
  return R"({"type":"message_delta","delta":{)" + members + R"(},"usage":{"output_tokens":5}})";
}

constexpr std::string_view stop_event = R"({"type":"message_stop"})";

// The one block of a response, written back.
std::string block_again(const std::vector<std::string>& events) {
  const ModelResponse response = read(events);
  EXPECT_EQ(response.message.blocks.size(), 1U);
  const Message stored = message_from_json(to_json(response.message)).value();
  EXPECT_TRUE(stored == response.message);
  const std::string text = anthropic_dialect({})->message(stored, false);
  constexpr std::string_view before = R"({"role":"assistant","content":[)";
  EXPECT_TRUE(text.starts_with(before)) << text;
  return text.substr(before.size(), text.size() - before.size() - 2);
}

TEST(Anthropic, KnowsEveryReasonToStop) {
  using Pair = std::pair<std::string, StopReason>;
  for (const auto& [word, reason] :
       {Pair{"end_turn", StopReason::end}, Pair{"stop_sequence", StopReason::end},
        Pair{"tool_use", StopReason::calls}, Pair{"max_tokens", StopReason::length},
        Pair{"model_context_window_exceeded", StopReason::length},
        Pair{"pause_turn", StopReason::paused}, Pair{"refusal", StopReason::refusal},
        Pair{"compaction", StopReason::other}}) {
    const auto response =
        read({stopped(R"("stop_reason":")" + word + "\""), std::string(stop_event)});
    EXPECT_EQ(response.stop, reason) << word;
    EXPECT_EQ(response.stop_text, word);
    EXPECT_FALSE(response.message.is_partial);
  }
}

TEST(Anthropic, ARefusalIsExplained) {
  const auto response = read(
      {stopped(
           R"("stop_reason":"refusal","stop_details":{"type":"refusal","category":"x","explanation":"Not this."})"),
       std::string(stop_event)});
  EXPECT_EQ(response.stop, StopReason::refusal);
  EXPECT_EQ(response.stop_text, "refusal: Not this.");
}

TEST(Anthropic, UsageIsCumulativeAndInputIsAddedUp) {
  const auto response = read(
      {R"({"type":"message_start","message":{"id":"msg_1","model":"c","usage":{"input_tokens":10,"cache_creation_input_tokens":200,"cache_read_input_tokens":3000,"output_tokens":1}}})",
       R"({"type":"message_delta","delta":{},"usage":{"output_tokens":40}})",
       R"({"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":11,"output_tokens":55,"output_tokens_details":{"thinking_tokens":30}}})",
       std::string(stop_event)});
  EXPECT_EQ(response.usage, (ModelUsage{.is_known = true,
                                        .tokens_in = 3211,
                                        .tokens_out = 55,
                                        .cache_read = 3000,
                                        .cache_write = 200,
                                        .reasoning = 30}));
}

TEST(Anthropic, WhatIsNotCountedIsNotKnown) {
  const std::string counted =
      R"({"type":"message_start","message":{"usage":{"input_tokens":10,"output_tokens":1}}})";
  const std::string uncounted = R"({"type":"message_start","message":{"id":"msg_1"}})";
  const std::string negative =
      R"({"type":"message_delta","delta":{},"usage":{"input_tokens":-1,"output_tokens":-5}})";
  const std::string silent = R"({"type":"message_delta","delta":{"stop_reason":"end_turn"}})";
  const std::string end(stop_event);
  EXPECT_TRUE(read({counted, stopped(""), end}).usage.is_known);
  EXPECT_FALSE(read({counted, silent, end}).usage.is_known) << "the beginning of the output only";
  EXPECT_FALSE(read({uncounted, stopped(""), end}).usage.is_known);
  EXPECT_FALSE(read({uncounted, silent, end}).usage.is_known);
  EXPECT_FALSE(read({uncounted, negative, end}).usage.is_known);
}

TEST(Anthropic, WithoutItsEndAResponseIsPartial) {
  const auto response =
      read({begun(R"({"type":"text","text":"a"})"), stopped(R"("stop_reason":"end_turn")")});
  EXPECT_TRUE(response.message.is_partial);
  EXPECT_FALSE(response.usage.is_known);
  EXPECT_EQ(response.usage.tokens_out, 5);
}

TEST(Anthropic, AnErrorIsToldInItsWords) {
  ModelObserver nobody;
  const auto stream = anthropic_dialect({})->open(nobody);
  const auto taken = stream->take(
      {.name = "error",
       .data = R"({"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}})"});
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().message, "overloaded_error: Overloaded");
}

TEST(Anthropic, WhatCannotBeUnderstoodEndsTheResponse) {
  for (const std::string_view data :
       {"{", "\xFF", R"({"type":"content_block_start","index":0})",
        R"({"type":"content_block_delta","index":9,"delta":{"type":"text_delta","text":"a"}})",
        R"({"type":"content_block_start","index":0,"content_block":7})"}) {
    ModelObserver nobody;
    const auto stream = anthropic_dialect({})->open(nobody);
    EXPECT_FALSE(stream->take({.name = "", .data = data})) << data;
  }
}

TEST(Anthropic, EventsOfOtherNamesAreNotEvenRead) {
  ModelObserver nobody;
  const auto stream = anthropic_dialect({})->open(nobody);
  EXPECT_TRUE(stream->take({.name = "ping", .data = "not JSON"}));
  EXPECT_TRUE(stream->take({.name = "", .data = R"({"type":"news"})"}));
}

TEST(Anthropic, ThinkingGoesBackWithItsSignature) {
  EXPECT_EQ(
      block_again({begun(R"({"type":"thinking","thinking":"","signature":""})"),
                   delta(R"("type":"thinking_delta","thinking":"Hm\n")"),
                   delta(R"("type":"thinking_delta","thinking":" so.")"),
                   delta(R"("type":"signature_delta","signature":"Ab+/")"),
                   delta(R"("type":"signature_delta","signature":"=")"), std::string(stop_event)}),
      R"({"type":"thinking","thinking":"Hm\n so.","signature":"Ab+/="})");
}

TEST(Anthropic, PiecesOfASignatureAreJoinedAsTheyAreWritten) {
  EXPECT_EQ(block_again({begun(R"({"type":"thinking","thinking":"","signature":"\u0041\/"})"),
                         delta(R"("type":"signature_delta","signature":"\ud83d")"),
                         delta(R"("type":"signature_delta","signature":"\ude00\n")"),
                         std::string(stop_event)}),
            R"({"type":"thinking","thinking":"","signature":"\u0041\/\ud83d\ude00\n"})");
}

TEST(Anthropic, OmittedThinkingGoesBackToo) {
  EXPECT_EQ(block_again({begun(R"({"type":"thinking","thinking":"","signature":"Zz"})"),
                         std::string(stop_event)}),
            R"({"type":"thinking","thinking":"","signature":"Zz"})");
}

TEST(Anthropic, BlocksThatNobodyKnowsGoBackWhole) {
  EXPECT_EQ(
      block_again(
          {begun(R"({"type":"server_tool_use","id":"srv_1","name":"web_search","input":{}})"),
           delta(R"("type":"input_json_delta","partial_json":"{\"query\": ")"),
           delta(R"("type":"input_json_delta","partial_json":"\"x\"}")"), std::string(stop_event)}),
      R"({"type":"server_tool_use","id":"srv_1","name":"web_search","input":{"query": "x"}})");
  const std::string result =
      R"({"type":"web_search_tool_result","tool_use_id":"srv_1","content":[{"encrypted_content":"E\/=", "n":1.0}]})";
  EXPECT_EQ(block_again({begun(result), std::string(stop_event)}), result);
  EXPECT_EQ(
      block_again({begun(R"({"type":"compaction","content":"a"})"),
                   delta(R"("type":"compaction_delta","content":"b","encrypted_content":"c")"),
                   std::string(stop_event)}),
      R"({"type":"compaction","content":"ab","encrypted_content":"c"})");
}

TEST(Anthropic, CitationsStayWithTheirText) {
  EXPECT_EQ(
      block_again(
          {begun(R"({"type":"text","text":""})"), delta(R"("type":"text_delta","text":"So.")"),
           delta(R"("type":"citations_delta","citation":{"n": 1})"),
           delta(R"("type":"citations_delta","citation":{"n": 2})"), std::string(stop_event)}),
      R"({"type":"text","text":"So.","citations":[{"n": 1},{"n": 2}]})");
}

TEST(Anthropic, ACitationThatIsMissingIsNone) {
  EXPECT_EQ(block_again({begun(R"({"type":"text","text":"So."})"),
                         delta(R"("type":"citations_delta","citation":{"n": 1})"),
                         delta(R"("type":"citations_delta")"), std::string(stop_event)}),
            R"({"type":"text","text":"So.","citations":[{"n": 1}]})");
}

TEST(Anthropic, ACallWithoutPiecesHasTheInputItBeganWith) {
  const auto response = read({begun(R"({"type":"tool_use","id":"t","name":"n","input":{"a": 1}})"),
                              begun(R"({"type":"tool_use","id":"t","name":"n","input":{}})")});
  EXPECT_EQ(std::get<ToolCallBlock>(response.message.blocks.front()).args, "{}");
  EXPECT_EQ(block_again({begun(R"({"type":"tool_use","id":"t","name":"n","input":{"a": 1}})")}),
            R"({"type":"tool_use","id":"t","name":"n","input":{"a": 1}})");
}

TEST(Anthropic, BlocksThatShareAnIndexAreAllKept) {
  const std::string text = begun(R"({"type":"text","text":""})");
  const std::string call = begun(R"({"type":"tool_use","id":"t","name":"n","input":{}})");
  const auto blocks =
      read({text, delta(R"("type":"text_delta","text":"one")"), text,
            delta(R"("type":"text_delta","text":"two")"), call, call,
            delta(R"("type":"input_json_delta","partial_json":"{ }")"), std::string(stop_event)})
          .message.blocks;
  ASSERT_EQ(blocks.size(), 3U) << "a call that is begun again is the same call";
  EXPECT_EQ(std::get<TextBlock>(blocks[0]).text, "one");
  EXPECT_EQ(std::get<TextBlock>(blocks[1]).text, "two");
  EXPECT_EQ(std::get<ToolCallBlock>(blocks[2]).args, "{ }");
}

TEST(Anthropic, HalvesOfACharacterInTwoPiecesBecomeOne) {
  const auto response =
      read({begun(R"({"type":"text","text":""})"), delta(R"("type":"text_delta","text":"a\ud83d")"),
            delta(R"("type":"text_delta","text":"\ude00b")"), std::string(stop_event)});
  EXPECT_EQ(text_of(response.message),
            "a\xF0\x9F\x98\x80"
            "b");
}

TEST(Anthropic, ABrokenLetterCostsNoResponse) {
  const auto response = read({begun(R"({"type":"text","text":""})"),
                              delta("\"type\":\"text_delta\",\"text\":\"a\xE2\x82\""),
                              delta(R"("type":"text_delta","text":"é")"), std::string(stop_event)});
  EXPECT_EQ(text_of(response.message), "a\xEF\xBF\xBDé");
  EXPECT_FALSE(response.message.is_partial);
}

Setup setup_with(bool has_system, bool has_tools) {
  Setup setup;
  setup.model = "c";
  if (has_system) setup.system_prompt = "S";
  if (has_tools) {
    setup.tools.push_back({.name = "one", .description = "1"});
    setup.tools.push_back({.name = "two"});
  }
  return setup;
}

TEST(Anthropic, TheCacheIsMarkedAfterWhatDoesNotChange) {
  const auto dialect = anthropic_dialect({});
  EXPECT_EQ(
      *dialect->head(setup_with(true, true)),
      R"({"model":"c","max_tokens":8192,"stream":true,"tools":[)"
      R"({"name":"one","description":"1","input_schema":{}},{"name":"two","input_schema":{}}],)"
      R"("system":[{"type":"text","text":"S","cache_control":{"type":"ephemeral"}}],"messages":[)");
  EXPECT_EQ(*dialect->head(setup_with(false, true)),
            R"({"model":"c","max_tokens":8192,"stream":true,"tools":[)"
            R"({"name":"one","description":"1","input_schema":{}},{"name":"two","input_schema":{},)"
            R"("cache_control":{"type":"ephemeral"}}],"messages":[)");
}

TEST(Anthropic, TheLastMessageIsMarkedAndNoOther) {
  const auto dialect = anthropic_dialect({});
  EXPECT_EQ(
      dialect->message(user_says("a"), true),
      R"({"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}]})");
  EXPECT_EQ(dialect->message(user_says("a"), false),
            R"({"role":"user","content":[{"type":"text","text":"a"}]})");
  Message thought;
  thought.role = Role::assistant;
  thought.blocks.emplace_back(TextBlock{.text = "a"});
  thought.blocks.emplace_back(ReasoningBlock{
      .metadata =
          RawJson::from_text(R"({"anthropic":{"type":"redacted_thinking","data":"d"}})").value()});
  EXPECT_EQ(dialect->message(thought, true), dialect->message(thought, false));
}

TEST(Anthropic, MarksCanBeLeftOut) {
  AnthropicOptions options;
  options.cache_hints = false;
  const auto dialect = anthropic_dialect(options);
  EXPECT_EQ(dialect->head(setup_with(true, true))->find("cache_control"), std::string::npos);
  EXPECT_EQ(dialect->message(user_says("a"), true), dialect->message(user_says("a"), false));
}

TEST(Anthropic, FailuresOfToolsAreMarked) {
  Message results;
  results.blocks.emplace_back(ToolResultBlock{.call_id = "t", .content = "no", .is_error = true});
  results.blocks.emplace_back(ToolResultBlock{.call_id = "u"});
  EXPECT_EQ(
      anthropic_dialect({})->message(results, false),
      R"({"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"no","is_error":true},)"
      R"({"type":"tool_result","tool_use_id":"u"}]})");
}

}  // namespace
}  // namespace perdure
