// The world outlives its clients, remembers after its own death, and ends with its test.

#include <array>
#include <filesystem>
#include <fstream>
#include <future>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <stdexcept>
#include <string>
#include <sys/socket.h>
#include <variant>
#include <vector>

#include "crash/child_process.hpp"
#include "doubles/temp_folder.hpp"
#include "world/client.hpp"
#include "world/socket.hpp"
#include "world/wire.hpp"
#include "world/world.hpp"
#include "world/world_fixture.hpp"

namespace perdure::world {
namespace {

using testing::HasSubstr;

// The next line over a connection; empty if its other end is closed. Throws if neither comes.
std::string read_line(const Socket& socket) {
  std::string text;
  while (!text.ends_with('\n')) {
    pollfd wanted = {.fd = socket.descriptor(), .events = POLLIN, .revents = 0};
    if (poll(&wanted, 1, 60'000) != 1) throw std::runtime_error("nothing comes, and no end");
    std::array<char, 4096> chunk{};
    const ssize_t size = recv(socket.descriptor(), chunk.data(), chunk.size(), 0);
    if (size <= 0) return "";
    text.append(chunk.data(), static_cast<std::size_t>(size));
  }
  return text;
}

class WorldSurvival : public WorldTest {
 protected:
  [[nodiscard]] std::string file_text() const {
    std::ifstream file(world.file());
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void append_to_file(const std::string& text) const {
    std::ofstream(world.file(), std::ios::app) << text;
  }
};

TEST_F(WorldSurvival, AKilledWorldKnowsAllEffectsAndKeysAgain) {
  (void)pay("pay-1", "k", true);
  (void)pay("pay-2", "l");
  world.plan({.fate = Fate::lose_request});
  (void)pay("pay-3", "m");
  const auto before = world.all();

  world.kill();
  world.restart();

  EXPECT_EQ(world.all(), before);
  EXPECT_EQ(text_of(pay("pay-1", "k", true)), R"({"id":1,"applied":true})");
  EXPECT_EQ(effects("pay-1"), 1);
  EXPECT_EQ(text_of(pay("pay-4")), R"({"id":3,"applied":true})");
}

TEST_F(WorldSurvival, AKilledWorldStillHasForgottenItsKeys) {
  (void)pay("pay-1", "k", true);
  world.forget_keys();
  world.kill();
  world.restart();
  (void)pay("pay-1", "k", true);
  EXPECT_EQ(effects("pay-1"), 2);
}

TEST_F(WorldSurvival, ALineThatDeathCutOffIsRemoved) {
  (void)pay("pay-1");
  const std::string whole = file_text();
  world.kill();
  append_to_file(R"({"row":"effect","op":"pay-)");

  world.restart();

  EXPECT_EQ(file_text(), whole);
  (void)pay("pay-1");
  world.kill();
  world.restart();
  EXPECT_EQ(effects("pay-1"), 2);
}

TEST_F(WorldSurvival, AFileThatIsDamagedIsRefused) {
  for (const char* line : {"no JSON\n", "{\"row\":\"rumour\"}\n"}) {
    world.kill();
    append_to_file(line);
    EXPECT_THROW(world.restart(), std::runtime_error) << line;
    std::filesystem::resize_file(world.file(), 0);
  }
}

TEST_F(WorldSurvival, AClientOfADeadWorldKnowsThatNothingWasSent) {
  world.kill();
  EXPECT_TRUE(is_denied(pay("pay-1")));
}

TEST_F(WorldSurvival, AClientWhoseWorldDiesBeforeItAnswersKnowsNothing) {
  world.plan({.fate = Fate::hang});
  auto reply = std::async(std::launch::async, [this] { return pay("pay-1"); });
  world.await("pay-1", 1);

  world.kill();

  EXPECT_TRUE(is_lost(reply.get()));
  world.restart();
  EXPECT_EQ(effects("pay-1"), 1);
}

TEST_F(WorldSurvival, AClientKilledOnItsWayLeavesWhatItSent) {
  for (const char* death : {"before", "sent", "answered"}) {
    const std::string op = std::string("pay-") + death;
    ChildProcess caller("world_caller", {"call", world.socket(), op, death});
    EXPECT_TRUE(caller.wait().was_killed());
    EXPECT_FALSE(caller.read_line()) << "it did not live to say so";
    EXPECT_EQ(effects(op), death == std::string("before") ? 0 : 1) << death;
  }
  ChildProcess caller("world_caller", {"call", world.socket(), "pay-never", "never"});
  EXPECT_EQ(caller.read_line(), "answered");
  EXPECT_TRUE(caller.wait().is_clean());
  EXPECT_EQ(effects("pay-never"), 1);
}

TEST_F(WorldSurvival, AClientKilledWhileItWaitsLeavesItsEffect) {
  world.plan({.fate = Fate::hang});
  ChildProcess caller("world_caller", {"call", world.socket(), "pay-1", "never"});
  world.await("pay-1", 1);

  caller.kill();
  caller.wait();

  world.release();
  EXPECT_EQ(effects("pay-1"), 1);
}

TEST_F(WorldSurvival, ARequestThatWasCutOffIsNone) {
  {
    const auto socket = connect_to(world.socket());
    ASSERT_TRUE(socket && send_all(*socket, R"({"request":"effect","op":"pay-1"})"));
  }
  EXPECT_EQ(requests("pay-1"), 0);
}

TEST_F(WorldSurvival, MalformedLinesAreDeniedAndDoNotEndIt) {
  const auto socket = connect_to(world.socket());
  ASSERT_TRUE(socket);
  ASSERT_TRUE(send_all(*socket, "\n{\n[]\n7\n\"effect\"\n{\"request\":7}\n\xff\xfe\n"));
  ASSERT_TRUE(send_all(*socket, std::string(100'000, '[') + "\n"));
  ASSERT_TRUE(send_all(*socket, "{\"request\":\"effect\",\"op\":\"pay-1\"}\n"));

  EXPECT_EQ(effects("pay-1"), 1) << "the last line was one";
  EXPECT_TRUE(std::holds_alternative<Answered>(pay("pay-2")));
}

TEST_F(WorldSurvival, EveryMalformedLineIsAnswered) {
  const auto socket = connect_to(world.socket());
  ASSERT_TRUE(socket);
  for (const char* line : {"", "{", "[]", "{\"request\":7}", "{\"request\":\"verify\"}"}) {
    ASSERT_TRUE(send_all(*socket, std::string(line) + "\n"));
    EXPECT_THAT(read_line(*socket), HasSubstr("denied")) << line;
  }
}

TEST_F(WorldSurvival, ALineWithoutAnEndEndsItsConnectionOnly) {
  const auto socket = connect_to(world.socket());
  ASSERT_TRUE(socket);
  (void)send_all(*socket, std::string(std::size_t{8} << 20, 'x'));
  EXPECT_EQ(read_line(*socket), "");
  EXPECT_TRUE(std::holds_alternative<Answered>(pay("pay-1")));
}

TEST_F(WorldSurvival, AClientThatNeverListensDelaysNobody) {
  const auto socket = connect_to(world.socket());
  ASSERT_TRUE(socket);
  (void)pay(std::string(100'000, 'p'));
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(send_all(*socket, "{\"request\":\"all\"}\n"));
  EXPECT_EQ(text_of(pay("pay-1")), R"({"id":2,"applied":true})");
}

TEST(WorldOfADeadTest, EndsWithIt) {
  const TempFolder folder = TempFolder::in_memory();
  ChildProcess owner("world_caller", {"own", folder.path().string()});
  ASSERT_EQ(owner.read_line(), "ready");
  const auto socket = connect_to(folder.file("world.socket"));
  ASSERT_TRUE(socket);

  owner.kill();

  EXPECT_EQ(read_line(*socket), "") << "the world closed it: it ends";
}

}  // namespace
}  // namespace perdure::world
