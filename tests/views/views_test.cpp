// What a person sees with the plain sqlite3 shell, Debian's: the three views, over a
// store that is open meanwhile.

#include <atomic>
#include <cstdio>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <vector>

#include "core/api/text.hpp"
#include "doubles/fake_clock.hpp"
#include "doubles/must.hpp"
#include "doubles/temp_folder.hpp"
#include "perdure/core/json.hpp"
#include "perdure/store/store.hpp"
#include "sqlite/engine/connection.hpp"

namespace perdure {
namespace {

/// The first column of the query's rows, as the shell prints them; `NULL` for none.
std::vector<std::string> shell(const std::string& path, const std::string& sql) {
  const std::string command =
      fmt::format("sqlite3 -batch -nullvalue NULL '{}' \"{}\" 2>&1", path, sql);
  FILE* pipe = popen(command.c_str(), "r");
  std::string output;
  for (int c = std::getc(pipe); c != EOF; c = std::getc(pipe)) output += static_cast<char>(c);
  if (pclose(pipe) != 0) throw std::runtime_error(command + "\n" + output);
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < output.size();) {
    const std::size_t end = output.find('\n', begin);
    lines.push_back(output.substr(begin, end - begin));
    begin = end == std::string::npos ? output.size() : end + 1;
  }
  return lines;
}

using Lines = std::vector<std::string>;

class Views : public testing::Test {
 protected:
  Views() {
    OpenOptions options;
    options.clock = &clock;
    options.durability = Durability::process;
    store = must(open_store(path(), options));
    must(store->ownership().enroll({.id = worker, .host = "here", .pid = 1}));
  }

  [[nodiscard]] std::string path() const { return folder.file("store.db"); }
  [[nodiscard]] Lines query(const std::string& sql) const { return shell(path(), sql); }

  Lease create(const NewSession& session) {
    must(store->sessions().create(session));
    return must(store->ownership().acquire(session.id, worker));
  }
  Lease create(const std::string& name) { return create({.id = must(SessionId::parse(name))}); }

  Receipt commit(const Lease& lease, Batch batch) {
    batch.id = mint<BatchTag>(random_ids());
    batch.expected_head = must(store->sessions().read(lease.session)).head;
    clock.advance(std::chrono::seconds(1));
    return must(store->commit(lease, batch));
  }

  static NewEntry entry(const std::string& channel, const Body& body, Fold fold = Fold::append) {
    return {.channel = channel, .kind = "entry", .fold = fold, .body = body};
  }
  static NewEntry said(const std::string& text) {
    return entry("transcript", Body::from_text(text));
  }
  static NewEntry plan(const std::string& text) {
    return entry("plan", Body::from_text(text), Fold::replace);
  }
  static NewCheckpoint turn() { return {.reason = "turn", .label = {}, .metadata = "{}"}; }

  TempFolder folder;
  FakeClock clock{must_time("2026-03-01T10:00:00.250Z")};
  WorkerId worker = mint<WorkerTag>(random_ids());
  std::unique_ptr<Store> store;

 private:
  static Timestamp must_time(std::string_view text) { return timestamp_from_iso8601(text).value(); }
};

TEST_F(Views, HaveTheColumnsOfTheChapter) {
  const auto columns = [&](const std::string& view) {
    return query(fmt::format("SELECT group_concat(name, ' ') FROM pragma_table_info('{}')", view));
  };
  EXPECT_EQ(columns("sessions"), Lines{"session_id created_at updated_at status"});
  EXPECT_EQ(columns("checkpoints"),
            Lines{"session_id version created_at transcript_json plan_json budget_spent_usd"});
  EXPECT_EQ(columns("tool_calls"),
            Lines{"session_id call_id tool_name args_json idempotency_key status result_text "
                  "started_at completed_at"});
}

TEST_F(Views, SessionsAreShownWithTheirTimesAndStatus) {
  const Lease lease = create("trip");
  commit(lease,
         {.status = StatusChange{.status = Status::waiting, .wait_reason = "you", .wake_at = {}}});

  EXPECT_EQ(query("SELECT session_id || ' ' || created_at || ' ' || updated_at || ' ' || status "
                  "FROM sessions"),
            Lines{"trip 2026-03-01T10:00:00.250Z 2026-03-01T10:00:01.250Z waiting"});
}

// v1 a, v2 a b; a fork of v2 says c; a branch from v1 says d.
class ViewsOfLines : public Views {
 protected:
  ViewsOfLines() {
    NewEntry a = said(R"({"text":"a"})");
    a.tally.cost_micros = 1'500'000;
    commit(trip, {.entries = {a, plan(R"({"do": 1})")}, .checkpoint = turn()});
    NewEntry b = said(R"({"text":"b"})");
    b.tally.cost_micros = 250'000;
    commit(trip, {.entries = {b, plan(R"({"do": 2})")}, .checkpoint = turn()});
  }

  [[nodiscard]] Lines checkpoints(const std::string& session) const {
    return query(fmt::format(
        "SELECT version || ' ' || transcript_json || ' ' || coalesce(plan_json, 'none') || ' ' || "
        "budget_spent_usd FROM checkpoints WHERE session_id = '{}' ORDER BY version",
        session));
  }

  const Lease trip = create("trip");
};

TEST_F(ViewsOfLines, EveryVersionIsShownAsItWas) {
  EXPECT_EQ(checkpoints("trip"), (Lines{R"(1 [{"text":"a"}] {"do": 1} 1.5)",
                                        R"(2 [{"text":"a"},{"text":"b"}] {"do": 2} 1.75)"}));
  EXPECT_EQ(query("SELECT created_at FROM checkpoints ORDER BY version"),
            (Lines{"2026-03-01T10:00:01.250Z", "2026-03-01T10:00:02.250Z"}));
}

TEST_F(ViewsOfLines, ABranchShowsItsOwnLine) {
  commit(trip, {.branch_from = Point::version(1),
                .entries = {said(R"({"text":"d"})")},
                .checkpoint = turn()});

  EXPECT_EQ(checkpoints("trip"), (Lines{R"(1 [{"text":"a"}] {"do": 1} 1.5)",
                                        R"(2 [{"text":"a"},{"text":"b"}] {"do": 2} 1.75)",
                                        R"(3 [{"text":"a"},{"text":"d"}] {"do": 1} 1.5)"}));
}

TEST_F(ViewsOfLines, AForkShowsWhatItSharesAndNoMore) {
  const Lease fork =
      create({.id = must(SessionId::parse("fork")),
              .origin = NewSession::Origin{.session = trip.session, .at = Point::version(1)}});
  commit(trip, {.entries = {said(R"({"text":"later"})")}, .checkpoint = turn()});
  commit(fork, {.entries = {said(R"({"text":"c"})")}, .checkpoint = turn()});

  EXPECT_EQ(checkpoints("fork"), Lines{R"(1 [{"text":"a"},{"text":"c"}] {"do": 1} 1.5)"});
}

TEST_F(ViewsOfLines, ABranchBelowTheForkPointOfItsSessionDoesNotShowTheParentsRest) {
  const Lease fork =
      create({.id = must(SessionId::parse("fork")),
              .origin = NewSession::Origin{.session = trip.session, .at = Point::version(2)}});
  commit(fork, {.branch_from = Point::position(2),
                .entries = {said(R"({"text":"e"})")},
                .checkpoint = turn()});

  EXPECT_EQ(checkpoints("fork"), Lines{R"(1 [{"text":"a"},{"text":"e"}] {"do": 1} 1.5)"});
}

TEST_F(ViewsOfLines, AReplacedTranscriptBeginsAnew) {
  commit(trip,
         {.entries = {entry("transcript", Body::from_text(R"({"text":"sum"})"), Fold::replace),
                      said(R"({"text":"f"})")},
          .checkpoint = turn()});

  EXPECT_EQ(checkpoints("trip").back(), R"(3 [{"text":"sum"},{"text":"f"}] {"do": 2} 1.75)");
}

TEST_F(ViewsOfLines, AClosedStoreShowsTheSame) {
  const Lines open = checkpoints("trip");
  store.reset();
  EXPECT_EQ(checkpoints("trip"), open);
}

class ViewsOfCalls : public Views {
 protected:
  // Intends a call on the session's next entry and dispatches it.
  Position call(const NewEntry& args, const std::string& provider_id,
                std::optional<Digest> key = {}) {
    const Position at = must(store->sessions().read(trip.session)).next;
    commit(trip, {.entries = {args},
                  .calls = {Intend{.call = at,
                                   .args = at,
                                   .tool = "weather",
                                   .provider_id = provider_id,
                                   .effect = EffectClass::idempotent,
                                   .key = key},
                            Dispatch{.call = at}}});
    return at;
  }
  void settle(Position at, CallState state, std::vector<NewEntry> result) {
    Settle change{.call = at, .state = state};
    if (!result.empty()) change.result = must(store->sessions().read(trip.session)).next;
    commit(trip, {.entries = std::move(result), .calls = {change}});
  }

  [[nodiscard]] Lines calls() const {
    return query(
        "SELECT call_id || ' ' || tool_name || ' ' || args_json || ' ' || status || ' ' || "
        "coalesce(result_text, 'none') FROM tool_calls ORDER BY started_at");
  }

  const Lease trip = create("trip");
};

TEST_F(ViewsOfCalls, ArgumentsAndResultsMayStandAlone) {
  settle(call(said(R"({"city":"Oslo"})"), "call_1", sha256("k")), CallState::succeeded,
         {said("sunny")});

  EXPECT_EQ(calls(), Lines{R"(call_1 weather {"city":"Oslo"} completed sunny)"});
  EXPECT_EQ(
      query(
          "SELECT session_id || ' ' || idempotency_key || ' ' || started_at || ' ' || completed_at "
          "FROM tool_calls"),
      Lines{"trip " + to_hex(sha256("k")) + " 2026-03-01T10:00:01.250Z 2026-03-01T10:00:02.250Z"});
}

TEST_F(ViewsOfCalls, ArgumentsAndResultsMayBeBlocksOfAMessage) {
  const std::string asked =
      R"({"role":"assistant","blocks":[{"kind":"text","text":"let me see"},)"
      R"({"kind":"tool_call","id":"other","name":"weather","args":{"city":"Rome"}},)"
      R"({"kind":"tool_call","id":"call_7","name":"weather","args":{"city":"Oslo"}}]})";
  const std::string answered =
      R"({"role":"tool","blocks":[{"kind":"tool_result","call_id":"other","content":"hot"},)"
      R"({"kind":"tool_result","call_id":"call_7","content":"sunny"}]})";
  settle(call(said(asked), "call_7"), CallState::succeeded, {said(answered)});

  EXPECT_EQ(calls(), Lines{R"(call_7 weather {"city":"Oslo"} completed sunny)"});
}

TEST_F(ViewsOfCalls, ThreeWordsSayWhatBecameOfThem) {
  call(said("1"), "dispatched");
  settle(call(said("2"), "doubt"), CallState::in_doubt, {});
  settle(call(said("3"), "failed"), CallState::failed, {});
  settle(call(said("4"), "done"), CallState::succeeded, {});
  const Position abandoned = call(said("5"), "abandoned");
  settle(abandoned, CallState::in_doubt, {});
  settle(abandoned, CallState::abandoned, {});

  EXPECT_EQ(query("SELECT call_id || ' ' || status FROM tool_calls ORDER BY started_at"),
            (Lines{"dispatched issued", "doubt issued", "failed failed", "done completed",
                   "abandoned failed"}));
}

TEST_F(ViewsOfCalls, ACallWithoutAProvidersIdGoesByItsPosition) {
  call(said("1"), "");
  EXPECT_EQ(query("SELECT call_id FROM tool_calls"), Lines{"1"});
}

TEST_F(ViewsOfCalls, ArgumentsBeforeABranchAreFound) {
  commit(trip, {.entries = {said(R"({"city":"Oslo"})")}, .checkpoint = turn()});
  commit(trip,
         {.branch_from = Point::version(1),
          .entries = {said("going on")},
          .calls = {Intend{.call = 2, .args = 1, .tool = "weather", .provider_id = "call_1"}}});

  EXPECT_EQ(calls(), Lines{R"(call_1 weather {"city":"Oslo"} issued none)"});
}

TEST_F(ViewsOfCalls, ArgumentsThatAForkSharesAreFound) {
  commit(trip, {.entries = {said(R"({"city":"Oslo"})")}, .checkpoint = turn()});
  const Lease fork =
      create({.id = must(SessionId::parse("fork")),
              .origin = NewSession::Origin{.session = trip.session, .at = Point::head()}});
  commit(fork,
         {.entries = {said("going on")},
          .calls = {Intend{.call = 2, .args = 1, .tool = "weather", .provider_id = "call_1"}}});

  EXPECT_EQ(calls(), Lines{R"(call_1 weather {"city":"Oslo"} issued none)"});
}

// A body as models and tools produce them on bad days.
TEST_F(ViewsOfCalls, AnErasedBodyIsShownAsNothing) {
  settle(call(entry("transcript", Body::from_text(R"({"to": "ann"})")), "call_1"),
         CallState::succeeded, {entry("transcript", Body::from_text("\"sent\""))});
  commit(trip,
         {.entries = {entry("plan", Body::from_text("{}"), Fold::replace)}, .checkpoint = turn()});
  must(store->upkeep().erase(trip.session, {1, 2, 3}));

  EXPECT_EQ(query("SELECT transcript_json FROM checkpoints"), Lines{"[null,null]"});
  EXPECT_EQ(query("SELECT plan_json FROM checkpoints"), Lines{"NULL"});
  EXPECT_EQ(query("SELECT status FROM tool_calls WHERE args_json IS NULL AND result_text IS NULL"),
            Lines{"completed"});
  EXPECT_EQ(query("SELECT count(*) FROM entries WHERE body IS NULL"), Lines{"3"});
}

TEST_F(ViewsOfCalls, ARemovedSessionIsInNoView) {
  settle(call(entry("transcript", Body::from_text("1")), "call_1"), CallState::succeeded,
         {entry("transcript", Body::from_text("2"))});
  must(store->ownership().release(trip));
  // Nothing of it is cleared yet.
  must(store->upkeep().remove(trip.session, [](const Step&) { return false; }));

  for (const char* view : {"sessions", "entries", "checkpoints", "tool_calls"}) {
    EXPECT_EQ(query(fmt::format("SELECT count(*) FROM {}", view)), Lines{"0"}) << view;
  }
}

struct OddText {
  std::string name;
  std::string text;
};

void PrintTo(const OddText& odd, std::ostream* out) { *out << odd.name; }

class OddBody : public ViewsOfCalls, public testing::WithParamInterface<OddText> {
 protected:
  /// The same rows by the shell's SQLite and by ours: they differ in what they call JSON.
  void expect_lines(const std::string& sql, const Lines& lines) {
    EXPECT_EQ(query(sql), lines);
    std::atomic<std::uint64_t> read = 0;
    sqlite::Connection connection(path(), "", SQLITE_OPEN_READONLY, &read);
    auto rows = connection.query(sql);
    Lines found;
    while (rows.next()) found.push_back(rows.string(0));
    EXPECT_EQ(found, lines) << sqlite3_libversion();
  }
};

TEST_P(OddBody, DoesNotBreakAView) {
  const Body odd = Body::from_text(GetParam().text);
  settle(call(entry("transcript", odd), "call_1"), CallState::succeeded,
         {entry("transcript", odd)});
  commit(trip, {.entries = {entry("plan", odd, Fold::replace), said(R"({"text":"after"})")},
                .checkpoint = turn()});

  expect_lines(
      "SELECT json_valid(transcript_json) || json_array_length(transcript_json) || "
      "json_extract(transcript_json, '$[2].text') FROM checkpoints",
      Lines{"13after"});
  expect_lines("SELECT count(*) || (plan_json IS NOT NULL) FROM checkpoints", Lines{"11"});
  expect_lines(
      "SELECT status || count(*) || (args_json IS NOT NULL) || (result_text IS NOT NULL) "
      "FROM tool_calls",
      Lines{"completed111"});
  expect_lines("SELECT count(body) FROM entries", Lines{"4"});
}

std::string nested(std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

INSTANTIATE_TEST_SUITE_P(
    Kinds, OddBody,
    testing::Values(
        OddText{"nothing", ""}, OddText{"cut_off", "{\"cut\": \"of"},
        OddText{"zero_bytes", std::string("\0\1\2", 3)}, OddText{"not_utf8", "\xFF\xFE"},
        OddText{"plain_text", "plain text"}, OddText{"null", "null"}, OddText{"array", "[]"},
        OddText{"blocks_number", R"({"blocks": 5})"},
        OddText{"blocks_object", R"({"blocks": {"kind": "tool_call"}})"},
        OddText{"blocks_of_scalars", R"({"blocks": ["text", 7, null]})"},
        OddText{"block_without_args", R"({"blocks": [{"kind": "tool_call", "id": "call_1"}]})"},
        OddText{"null_content",
                R"({"blocks": [{"kind": "tool_result", "call_id": "call_1", "content": null}]})"},
        OddText{"same_key_twice", R"({"a": 1, "a": 2})"}, OddText{"lone_surrogate", R"("\ud800")"},
        OddText{"huge_number", "1e400"}, OddText{"long_digits", "[1.0, 12345678901234567890]"},
        OddText{"deep", nested(200)}, OddText{"as_deep_as_json", nested(256)},
        OddText{"deeper", nested(257)}, OddText{"as_deep_as_sqlite", nested(1000)},
        OddText{"deeper_than_sqlite", nested(1001)}, OddText{"very_deep", nested(10'000)},
        OddText{"zero_after_json", std::string("{\"a\":1}\0", 8)},
        OddText{"zero_in_json", std::string("{\"a\0\":1}", 8)},
        OddText{"escaped_zero", R"({"a\u0000b": "\u0000"})"},
        OddText{"not_utf8_in_json", "{\"a\":\"\xff\"}"},
        OddText{"surrogate_bytes", "\"\xed\xa0\x80\""},
        OddText{"byte_order_mark", "\xef\xbb\xbf{}"}, OddText{"json5", "{a: +1, 'b': .5,}"},
        OddText{"jsonb_object", std::string("\x0c", 1)},
        OddText{"jsonb_array", std::string("\x2b\x13\x31", 3)},
        OddText{"jsonb_cut_off", std::string("\xcb\xff", 2)},
        OddText{"huge_block",
                R"({"blocks": [{"kind": "tool_call", "id": "call_1", "args": 1e400}]})"}),
    [](const auto& odd) { return odd.param.name; });

TEST_F(ViewsOfCalls, AnOddProvidersIdDoesNotBreakAView) {
  for (const std::string& id : {std::string("a\0b", 3), std::string("\xff"),
                                std::string("'; DROP VIEW tool_calls; --"), std::string("\n")}) {
    call(said(R"({"blocks": [{"kind": "tool_call", "id": "other"}]})"), id);
  }
  EXPECT_EQ(query("SELECT count(args_json) || count(call_id) FROM tool_calls"), Lines{"44"});
}

TEST_F(Views, TimesFromTheEndsDoNotBreakThem) {
  const Lease lease = create("trip");
  for (const Timestamp time : {Timestamp::min(), Timestamp::max()}) {
    NewEntry odd = said("{}");
    odd.at = time;
    commit(lease, {.entries = {odd}, .checkpoint = turn()});
  }
  EXPECT_EQ(query("SELECT count(*) FROM entries"), Lines{"2"});
  EXPECT_EQ(query("SELECT count(transcript_json) FROM checkpoints"), Lines{"2"});
}

}  // namespace
}  // namespace perdure
