// Smaller callbacks, each through the public function that calls it.

#include <chrono>
#include <filesystem>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "agent/api/agent_file.hpp"
#include "doubles/free_port.hpp"
#include "doubles/must.hpp"
#include "perdure/adapters/saver.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/agent/tools.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/time.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/runtime/tool.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/store.hpp"
#include "runtime/api/read.hpp"
#include "thrown/throwing.hpp"
#include "tools/secret_ref.hpp"

namespace perdure {
namespace {

using testing::HasSubstr;

TEST(ThrowingCallback, OfALineEndsTheReading) {
  const auto store = must(open_store("memory:"));
  const auto runtime = must(Runtime::start(*store));
  Session session = must(runtime->create());
  for (int i = 0; i < 1200; ++i) must(session.append(user_says("more")));
  for (const Thrown what : all_thrown) {
    for (const Position at : {Position{1}, Position{700}}) {
      const auto read = read_line(*store, session.id(), Point::head(), [&](Entry& entry) {
        if (entry.position >= at) throw_it(what);
        return Result<void>();
      });
      ASSERT_FALSE(read);
      EXPECT_EQ(read.error().message, threw("`take`", what));
    }
  }
}

TEST(ThrowingCallback, OfASaversStateIsAFailureToReadIt) {
  for (const Thrown what : all_thrown) {
    const CheckpointSaver::State state(
        CheckpointSaver::State::Fetch([what]() -> Result<RawJson> { throw_it(what); }));
    EXPECT_EQ(state.read().error().message, threw("the state's `fetch`", what));
  }
  EXPECT_FALSE(CheckpointSaver::State(CheckpointSaver::State::Fetch()).read()) << "none";
}

/// Throws whatever it is asked.
class WaywardSaver final : public CheckpointSaver {
 public:
  explicit WaywardSaver(Thrown what) : what_(what) {}
  Result<std::optional<Checkpoint>> get(const std::string&,
                                        const std::optional<std::string>&) override {
    throw_it(what_);
  }
  Result<Checkpoint> put(const std::string&, RawJson, const std::optional<std::string>&,
                         const RawJson&) override {
    throw_it(what_);
  }
  Result<std::vector<Checkpoint>> list(const std::string&, const std::optional<std::string>&,
                                       int) override {
    throw_it(what_);
  }
  Result<void> remove(const std::string&) override { throw_it(what_); }
  Result<ClaimAnswer> claim_step(const std::string&, const std::string&,
                                 const std::string&) override {
    throw_it(what_);
  }
  Result<void> fill_step(const StepClaim&, const RawJson&) override { throw_it(what_); }
  Result<void> release_step(const StepClaim&) override { throw_it(what_); }
  Result<std::vector<Step>> list_steps(const std::string&) override { throw_it(what_); }

 private:
  Thrown what_;
};

TEST(ThrowingCallback, OfASaverUnderTestIsAProblemOfIt) {
  for (const Thrown what : all_thrown) {
    for (const SaverCheck& check : saver_checks()) {
      SCOPED_TRACE(check.name);
      const auto saver = check.run([&] { return std::make_unique<WaywardSaver>(what); });
      const auto maker = check.run([&]() -> std::unique_ptr<CheckpointSaver> { throw_it(what); });
      EXPECT_TRUE(saver);
      EXPECT_EQ(maker, threw("`make`", what));
      EXPECT_EQ(check.run([] { return nullptr; }), "no saver was made");
      EXPECT_TRUE(check.run({})) << "nothing that makes one";
    }
  }
}

TEST(ThrowingCallback, OfTheEnvironmentIsAFailureToReadIt) {
  for (const Thrown what : all_thrown) {
    const Environment wayward = [what](const std::string&) -> std::optional<std::string> {
      throw_it(what);
    };
    EXPECT_EQ(api_key_from_environment(wayward, "KEY").error().message,
              threw("the environment", what));
    const Secrets secrets = must(Secrets::of({{.name = "TOKEN", .variable = "KEY"}}, wayward));
    EXPECT_EQ(secrets.read("TOKEN").error().message, threw("the environment", what));
    EXPECT_EQ(secrets.read_all().error().message, threw("the environment", what));
  }
  EXPECT_EQ(api_key_from_environment({}, "KEY").error().code, ErrorCode::not_found);
}

TEST(ThrowingCallback, OfAFileOfAnAgentIsAnErrorOfIt) {
  constexpr std::string_view file = "name: a\nmodel:\n  provider: scripted\n  script: s.json\n";
  for (const Thrown what : all_thrown) {
    const auto read = parse_agent(file, "agent.yaml",
                                  [&](const auto&) -> Result<std::string> { throw_it(what); });
    ASSERT_FALSE(read);
    EXPECT_THAT(read.error().message, HasSubstr(threw("`read`", what)));
  }
}

// What it did is known; what it said may hold a secret.
TEST(ThrowingCallback, OfSecretsWithholdsTheWordsAndKeepsTheOutcome) {
  for (const Thrown what : all_thrown) {
    ToolSpec spec{.tool = {.name = "t"}};
    std::vector<std::string> told;
    spec.tool.run = [](const CallContext& call) -> ToolOutcome {
      call.progress("planted");
      return Succeeded{"planted"};
    };
    spec.tool.verify = [](const VerifyContext&) -> Verdict { return Landed{"planted"}; };
    const ToolSpec silent =
        without_secrets(spec, [&]() -> Result<SecretValues> { throw_it(what); });
    const Json args;

    const ToolOutcome outcome = silent.tool.run(
        {.args = args,
         .progress = ToolProgress([&](std::string_view line) { told.emplace_back(line); })});
    const Verdict verdict = silent.tool.verify({.args = args});

    EXPECT_THAT(std::get<Succeeded>(outcome).content, HasSubstr("withheld"));
    EXPECT_THAT(std::get<Landed>(verdict).content, HasSubstr("withheld"));
    EXPECT_TRUE(told.empty());
  }
}

TEST(ThrowingCallback, OfAToolWithSecretsIsSearchedForThem) {
  for (const Thrown what : all_thrown) {
    ToolSpec spec{.tool = {.name = "t"}};
    spec.tool.run = [what](const CallContext&) -> ToolOutcome { throw_it(what); };
    const ToolSpec silent = without_secrets(spec, [] { return SecretValues{{"ROOM", "no room"}}; });
    const Json args;

    const ToolOutcome outcome = silent.tool.run({.args = args});

    const std::string& why = std::get<Doubtful>(outcome).why;
    EXPECT_THAT(why, HasSubstr("the tool's `run` threw: "));
    EXPECT_THAT(why, testing::Not(HasSubstr("no room")));
  }
}

TEST(ThrowingCallback, OfAWaitEndsTheRequestThatCostNothing) {
  for (const Thrown what : all_thrown) {
    ChatOptions options;
    options.http.base_url = fmt::format("http://127.0.0.1:{}", free_port());
    const auto provider = must(make_chat_completions(
        options, {.clock = system_clock(),
                  .ids = random_ids(),
                  .wait = [what](Duration, const std::stop_token&) -> bool { throw_it(what); }}));
    const perdure::Setup setup{.model = "m"};
    const std::vector<Message> messages{user_says("hello")};
    must(provider->prepare({.setup = setup, .messages = messages}));
    ModelObserver nobody;

    const ModelOutcome outcome = provider->send(nobody, {});

    const auto& failure = std::get<NotAnswered>(outcome);
    EXPECT_FALSE(failure.may_be_paid);
    EXPECT_FALSE(failure.was_stopped);
    EXPECT_EQ(failure.attempts, 1);
    EXPECT_THAT(failure.error.message, HasSubstr(threw("the model services' `wait`", what)));
  }
}

}  // namespace
}  // namespace perdure
