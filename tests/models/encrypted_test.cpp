// Encrypted connections: to a server whose certificate is trusted, and to no other.

#include <chrono>
#include <gtest/gtest.h>
#include <string>
#include <variant>
#include <vector>

#include "doubles/free_port.hpp"
#include "doubles/temp_folder.hpp"
#include "models/client.hpp"
#include "models/model_server.hpp"
#include "models/tls_front.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/core/error.hpp"
#include "perdure/runtime/state.hpp"

namespace perdure::models {
namespace {

using namespace std::chrono_literals;

class Encrypted : public testing::TestWithParam<Format> {
 protected:
  [[nodiscard]] std::string url(const std::string& host, const std::string& behaviour) const {
    return "https://" + host + ":" + std::to_string(front.port()) + "/" + behaviour;
  }

  TempFolder folder;
  ModelServer server;
  TlsFront front{server.port(), folder.path() / "certificate.pem"};
  Listener listener;
};

TEST_P(Encrypted, ATrustedServerIsAsked) {
  HttpProviderOptions trusting = options();
  trusting.ca_file = folder.path() / "certificate.pem";
  const auto provider = GetParam().make(url("127.0.0.1", "pieces-100"), trusting, services());
  for (int i = 0; i < 2; ++i) {
    const ModelOutcome outcome = ask(*provider, listener);
    ASSERT_TRUE(std::holds_alternative<ModelResponse>(outcome));
    EXPECT_TRUE(std::get<ModelResponse>(outcome).message ==
                GetParam().response(text_bytes_default).message);
  }
}

TEST_P(Encrypted, ABrokenConnectionIsACutOff) {
  HttpProviderOptions trusting = options();
  trusting.ca_file = folder.path() / "certificate.pem";
  const auto provider = GetParam().make(url("127.0.0.1", "chunkcut-2500"), trusting, services());
  EXPECT_TRUE(std::holds_alternative<CutOff>(ask(*provider, listener)));
}

TEST_P(Encrypted, AStrangerIsToldNothing) {
  const auto provider = GetParam().make(url("127.0.0.1", "whole"), options(), services());
  const ModelOutcome outcome = ask(*provider, listener);
  const auto& failed = std::get<NotAnswered>(outcome);
  EXPECT_EQ(failed.error.code, ErrorCode::invalid_argument);
  EXPECT_FALSE(failed.may_be_paid);
  EXPECT_EQ(failed.attempts, 1);
  EXPECT_TRUE(server.requests().empty());
}

TEST_P(Encrypted, ACertificateForAnotherNameIsAStrangers) {
  HttpProviderOptions trusting = options();
  trusting.ca_file = folder.path() / "certificate.pem";
  const auto provider = GetParam().make(url("localhost", "whole"), trusting, services());
  const ModelOutcome outcome = ask(*provider, listener);
  EXPECT_EQ(std::get<NotAnswered>(outcome).error.code, ErrorCode::invalid_argument);
  EXPECT_TRUE(server.requests().empty());
}

// OpenSSL by itself writes to a connection that is gone without asking that no signal be raised, and a
// process that has no handler for it dies. libcurl must not leave it to that.
TEST_P(Encrypted, AServerThatHangsUpDuringTheRequestKillsNobody) {
  const auto setup = small_setup();
  const std::vector<Message> large = {user_says(std::string(8'000'000, 'x'))};
  const TlsFront nobody(free_port(), folder.path() / "nobodys.pem");
  HttpProviderOptions trusting = options();
  trusting.ca_file = folder.path() / "nobodys.pem";
  const std::string address = "https://127.0.0.1:" + std::to_string(nobody.port()) + "/whole";
  for (int i = 0; i < 5; ++i) {
    const auto provider = GetParam().make(address, trusting, services());
    ASSERT_TRUE(provider->prepare({.setup = setup, .messages = large}));
    const ModelOutcome outcome = provider->send(listener, {});
    EXPECT_TRUE(std::get<NotAnswered>(outcome).may_be_paid);
  }
}

INSTANTIATE_TEST_SUITE_P(EveryFormat, Encrypted, testing::ValuesIn(formats()),
                         [](const auto& format) { return format.param.name; });

}  // namespace
}  // namespace perdure::models
