// Setups, origins, children, counters and scratchpads: their rules, and their JSON, byte for byte where
// a provider looks at bytes.
//
// gtest has a Setup of its own, so ours is named in full.

#include <cstdint>
#include <gtest/gtest.h>
#include <limits>
#include <rapidcheck/gtest.h>
#include <string>
#include <string_view>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "runtime/api/records.hpp"
#include "runtime/api/state_details.hpp"
#include "values/codec_fixture.hpp"

namespace perdure {
namespace {

TEST(Setup, HasItsShape) {
  perdure::Setup setup{.system_prompt = "Be brief.", .model = "m-1"};
  setup.tools.push_back({.name = "pay", .description = "Pays."});
  EXPECT_EQ(to_json(setup), R"({"system_prompt":"Be brief.","model":"m-1","parameters":{},)"
                            R"("tools":[{"name":"pay","description":"Pays.","input_schema":{}}]})");
}

TEST(Setup, KeepsSchemasParametersAndWhatItDoesNotKnowByteForByte) {
  const std::string text =
      R"({"system_prompt":"","model":"m","parameters":{ "temperature" : 1.0 },)"
      R"("tools":[{"name":"t","description":"","input_schema":{ "type":"\u006fbject" },)"
      R"("cache": {"ttl" : 5}}],"beta":[ "x" ]})";
  const auto setup = setup_from_json(text);
  ASSERT_TRUE(setup) << setup.error().message;
  EXPECT_EQ(setup->parameters.text(), R"({ "temperature" : 1.0 })");
  const std::string again = to_json(*setup);
  EXPECT_NE(again.find(R"("input_schema":{ "type":"\u006fbject" })"), std::string::npos);
  EXPECT_NE(again.find(R"("cache":{"ttl" : 5})"), std::string::npos);
  EXPECT_NE(again.find(R"("beta":[ "x" ])"), std::string::npos);
}

TEST(Setup, ComesBackWithASchemaThatNestsAsDeepAsJsonMay) {
  std::string deep(json_depth_max, '[');
  deep.append(json_depth_max, ']');
  perdure::Setup setup;
  setup.parameters = RawJson::from_text(deep).value();
  setup.tools.push_back({.name = "t", .input_schema = setup.parameters});
  const auto back = setup_from_json(to_json(setup));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, setup);
}

TEST(Setup, RefusesWhatIsNone) {
  for (const std::string_view text :
       {"", "[]", "null", R"({"model":1})", R"({"tools":{}})", R"({"tools":[{}]})",
        R"({"tools":[{"name":[]}]})", R"({"model":"","model_base64":"?"})"}) {
    const auto setup = setup_from_json(text);
    ASSERT_FALSE(setup) << text;
    EXPECT_EQ(setup.error().code, ErrorCode::invalid_argument) << text;
  }
}

RC_GTEST_PROP(SetupProperty, ComesBackWithAnyBytes,
              (const std::string& a, const std::string& b, const std::string& c)) {
  perdure::Setup setup{.system_prompt = a, .model = b, .unknown = *values::any_unknown()};
  setup.parameters = RawJson::from_value(c);
  for (int i = *rc::gen::inRange(0, 3); i > 0; --i) {
    setup.tools.push_back({.name = c, .description = a, .unknown = *values::any_unknown()});
  }
  values::check_codec(setup, setup_from_json);
}

TEST(Origin, HasItsShape) {
  EXPECT_EQ(to_json(Origin{.root = "ses_1", .nonce = "n", .agent_digest = "ab"}),
            R"({"root":"ses_1","nonce":"n","agent_digest":"ab"})");
}

TEST(Origin, RefusesWhatIsNone) {
  for (const std::string_view text : {"", "{}", "[]", R"({"root":1})"}) {
    const auto origin = origin_from_json(text);
    ASSERT_FALSE(origin) << text;
    EXPECT_EQ(origin.error().code, ErrorCode::invalid_argument) << text;
  }
}

TEST(AgentChange, HasItsShape) {
  EXPECT_EQ(to_json(AgentChange{.agent_digest = "ab", .parts = {"model", "tools"}, .who = "ann"}),
            R"({"agent_digest":"ab","parts":["model","tools"],"who":"ann"})");
}

TEST(AgentChange, RefusesWhatIsNone) {
  for (const std::string_view text :
       {"", "{}", "[]", R"({"agent_digest":"ab","parts":[1]})", R"({"agent_digest":1})"}) {
    const auto change = agent_change_from_json(text);
    ASSERT_FALSE(change) << text;
    EXPECT_EQ(change.error().code, ErrorCode::invalid_argument) << text;
  }
}

RC_GTEST_PROP(AgentChangeProperty, ComesBackWithAnyBytes,
              (const std::string& a, const std::string& b)) {
  values::check_codec(
      AgentChange{
          .agent_digest = a, .parts = {"one", "two"}, .who = b, .unknown = *values::any_unknown()},
      agent_change_from_json);
}

RC_GTEST_PROP(OriginProperty, ComesBackWithAnyBytes, (const std::string& a, const std::string& b)) {
  values::check_codec(
      Origin{.root = a, .nonce = b, .agent_digest = a, .unknown = *values::any_unknown()},
      origin_from_json);
}

TEST(ChildSpawn, ComesBackFromItsText) {
  const ChildSpawn spawn{.child = "c",
                         .root = "r",
                         .nonce = "n",
                         .agent_digest = "d",
                         .limit_micros = 5,
                         .setup = perdure::Setup{.model = "m"}};
  EXPECT_EQ(child_spawn_from_json(to_json(spawn)), spawn);
  const ChildSpawn bare{.child = "c", .root = "r"};
  EXPECT_EQ(child_spawn_from_json(to_json(bare)), bare);
}

TEST(ChildEnd, ComesBackFromItsText) {
  const ChildEnd end{.child = "c",
                     .number = 2,
                     .status = Status::failed,
                     .spent_micros = 7,
                     .unconfirmed_micros = 3,
                     .result = "\xff odd"};
  EXPECT_EQ(child_end_from_json(to_json(end)), end);
}

TEST(ChildRecords, KeepWhatTheyDoNotKnow) {
  const std::string text =
      R"({"child":"c","root":"r","nonce":"","agent_digest":"","later":[1, 2]})";
  EXPECT_EQ(to_json(child_spawn_from_json(text).value()), text);
}

TEST(ChildRecords, RefuseWhatMakesNoSense) {
  for (const char* const text :
       {R"({"child":"c"})", R"({"child":"c","root":"r","limit_micros":-1})",
        R"({"child":"c","root":"r","setup":1})"}) {
    const auto read = child_spawn_from_json(text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code, ErrorCode::invalid_argument) << text;
  }
  for (const char* const text : {R"({"child":"c"})", R"({"child":"c","spent_micros":-1})",
                                 R"({"child":"c","spent_micros":1,"unconfirmed_micros":2})",
                                 R"({"child":"c","spent_micros":1,"status":"gone"})"}) {
    const auto read = child_end_from_json(text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code, ErrorCode::invalid_argument) << text;
  }
}

TEST(ChildOf, IsTheSameForACallAndNoOther) {
  const SessionId parent = SessionId::parse("ses_p").value();
  const OpenCall call{.call = 3, .nonce = "n"};
  EXPECT_EQ(child_of(parent, call), child_of(parent, call));
  EXPECT_NE(child_of(parent, call), child_of(parent, {.call = 4, .nonce = "n"}));
  EXPECT_NE(child_of(parent, call), child_of(SessionId::parse("ses_q").value(), call));
  EXPECT_NE(child_of(parent, call), child_of(parent, {.call = 3, .nonce = "m"}))
      << "the parent's id is used again";
}

TEST(Counters, CountByName) {
  Counters counters;
  EXPECT_EQ(counters.at("nudges"), 0);
  EXPECT_EQ(add(counters, "nudges", 2), 2);
  EXPECT_EQ(add(counters, "nudges", -3), -1);
  EXPECT_EQ(counters.at("nudges"), -1);
  EXPECT_EQ(to_json(counters), R"({"counters":{"nudges":-1}})");
}

TEST(Counters, RefuseToOverflow) {
  for (const std::int64_t end :
       {std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()}) {
    Counters counters;
    ASSERT_TRUE(add(counters, "n", end));
    const auto more = add(counters, "n", end > 0 ? 1 : -1);
    ASSERT_FALSE(more);
    EXPECT_EQ(more.error().code, ErrorCode::invalid_argument);
    EXPECT_EQ(counters.at("n"), end);
  }
}

TEST(Counters, RefuseOddNames) {
  Counters counters;
  EXPECT_EQ(add(counters, "", 1).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(add(counters, "a\nb", 1).error().code, ErrorCode::invalid_argument);
  EXPECT_TRUE(counters.values.empty());
}

TEST(Counters, MayBeCalledAnything) {
  // Also what stands for a version elsewhere.
  const auto counters = counters_from_json(R"({"counters":{"v":7,"counters":1}})");
  ASSERT_TRUE(counters);
  EXPECT_EQ(counters->at("v"), 7);
}

TEST(Counters, RefuseWhatIsNone) {
  for (const std::string_view text :
       {"", "{}", R"({"counters":[]})", R"({"counters":{"a":1.5}})", R"({"counters":{"a":"1"}})",
        R"({"counters":{"a":9223372036854775808}})"}) {
    const auto counters = counters_from_json(text);
    ASSERT_FALSE(counters) << text;
    EXPECT_EQ(counters.error().code, ErrorCode::invalid_argument) << text;
  }
}

RC_GTEST_PROP(CountersProperty, ComeBack, (std::int64_t a, std::int64_t b)) {
  const Counters counters{.values = {{"a", a}, {"b \xC3\xA4", b}},
                          .unknown = *values::any_unknown()};
  values::check_codec(counters, counters_from_json);
}

TEST(Scratchpad, IsSetAndDeletedByKey) {
  Scratchpad scratchpad;
  ASSERT_TRUE(apply(scratchpad, {.key = "notes", .value = "a"}));
  ASSERT_TRUE(apply(scratchpad, {.key = "notes", .value = "b"}));
  EXPECT_EQ(std::get<std::string>(scratchpad.values.at("notes")), "b");
  ASSERT_TRUE(apply(scratchpad, {.key = "notes"}));
  ASSERT_TRUE(apply(scratchpad, {.key = "never-there"}));
  EXPECT_TRUE(scratchpad.values.empty());
}

TEST(Scratchpad, RefusesKeysThatAreNoFileNames) {
  Scratchpad scratchpad;
  for (const std::string& key :
       {std::string(), std::string("a/b"), std::string(".."), std::string("a b"),
        std::string("\xC3\xA4"), std::string("a\0b", 3), std::string(129, 'a')}) {
    const auto refused = apply(scratchpad, {.key = key, .value = "x"});
    ASSERT_FALSE(refused) << key;
    EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
    EXPECT_FALSE(scratch_entry_from_json("set", to_json(ScratchEntry{.key = key, .value = "x"})));
  }
  EXPECT_TRUE(check_scratch_key("Az09_-"));
  EXPECT_TRUE(check_scratch_key(std::string(128, 'a')));
}

TEST(Scratchpad, HasTextsAndBlobs) {
  const ScratchEntry text{.key = "k", .value = "t"};
  EXPECT_EQ(kind_of(text), "set");
  EXPECT_EQ(to_json(text), R"({"key":"k","text":"t"})");
  const ScratchEntry gone{.key = "k"};
  EXPECT_EQ(kind_of(gone), "delete");
  EXPECT_EQ(to_json(gone), R"({"key":"k"})");
  const ScratchEntry blob{.key = "k", .value = BlobRef{.digest = sha256("x"), .size = 1}};
  EXPECT_EQ(to_json(blob), R"({"key":"k","blob":")" + to_hex(sha256("x")) + R"(","size":1})");
}

TEST(Scratchpad, RefusesWhatIsNoEntry) {
  for (const std::string_view text :
       {"", "{}", R"({"key":"k"})", R"({"key":"k","text":1})", R"({"key":"k","blob":"ab"})",
        R"({"key":"k","blob":{},"size":1})", R"({"text":"t"})"}) {
    const auto entry = scratch_entry_from_json("set", text);
    ASSERT_FALSE(entry) << text;
    EXPECT_EQ(entry.error().code, ErrorCode::invalid_argument) << text;
  }
  EXPECT_FALSE(scratch_entry_from_json("append", R"({"key":"k","text":"t"})"));
}

RC_GTEST_PROP(ScratchpadProperty, EntriesComeBackWithAnyBytes, (const std::string& text)) {
  ScratchEntry entry{.key = "k", .unknown = *values::any_unknown()};
  switch (*rc::gen::inRange(0, 3)) {
    case 0:
      entry.value = text;
      break;
    case 1:
      entry.value = BlobRef{.digest = sha256(text), .size = text.size()};
      break;
    default:
      break;
  }
  if (*rc::gen::arbitrary<bool>()) entry.by = "outside";
  const std::string kind(kind_of(entry));
  values::check_codec(entry,
                      [&](std::string_view json) { return scratch_entry_from_json(kind, json); });
}

}  // namespace
}  // namespace perdure
