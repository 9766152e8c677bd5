// A server that takes encrypted connections only: what `sslmode` says is what happens.

#include <chrono>
#include <fmt/format.h>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <string>

#include "doubles/must.hpp"
#include "doubles/postgres_cluster.hpp"
#include "doubles/postgres_programs.hpp"
#include "doubles/postgres_server.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/store/store.hpp"

namespace perdure {
namespace {

using testing::HasSubstr;

class Tls : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    server = std::make_unique<PostgresServer>(PostgresServer::Settings{"ssl=on", "fsync=off"});
    certify(server->data_folder() + "/server");
    certify(server->folder() + "/stranger");
    std::ofstream(server->data_folder() + "/pg_hba.conf") << "hostssl all all 127.0.0.1/32 trust\n";
    server->start();
  }
  static void TearDownTestSuite() { server.reset(); }

  [[nodiscard]] static Result<std::unique_ptr<Store>> open(const std::string& options) {
    OpenOptions hasty;
    hasty.write_wait = std::chrono::seconds(3);
    return open_store(server->address() + "?notify=off&application_name=tls&" + options, hasty);
  }
  static SessionId some_session() { return SessionId::parse("session").value(); }

  static std::unique_ptr<PostgresServer> server;

 private:
  /// Signed by itself, and so its own authority.
  static void certify(const std::string& name) {
    run_postgres_program(
        "/usr/bin/openssl",
        {"req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
         "-days", "2", "-subj", "/CN=perdure test", "-addext", "subjectAltName=IP:127.0.0.1",
         "-keyout", name + ".key", "-out", name + ".crt"},
        name + ".log");
  }
};

std::unique_ptr<PostgresServer> Tls::server;

TEST_F(Tls, WhatIsRequiredToBeEncryptedIs) {
  const auto store = must(open("sslmode=require"));
  must(store->sessions().create({.id = some_session()}));
  PostgresSql sql(server->address());
  EXPECT_EQ(sql.one("SELECT bool_and(s.ssl)::text FROM pg_stat_ssl s JOIN pg_stat_activity a USING "
                    "(pid) WHERE a.application_name = 'tls'"),
            "true");
}

TEST_F(Tls, AServerThatWantsEncryptionSaysSoToWhoWantsNone) {
  const auto store = open("sslmode=disable");
  ASSERT_FALSE(store);
  EXPECT_THAT(store.error().message, HasSubstr("no encryption"));
}

TEST_F(Tls, AServerIsVerifiedByTheCertificateThatIsGiven) {
  EXPECT_TRUE(
      open(fmt::format("sslmode=verify-full&sslrootcert={}/server.crt", server->data_folder())));
}

TEST_F(Tls, AServerThatCannotBeVerifiedIsNotSpokenTo) {
  const auto store =
      open(fmt::format("sslmode=verify-full&sslrootcert={}/stranger.crt", server->folder()));
  ASSERT_FALSE(store);
  EXPECT_THAT(store.error().message, HasSubstr("certificate verify failed"));
}

}  // namespace
}  // namespace perdure
