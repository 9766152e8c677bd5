// What each SQLSTATE means to a caller.

#include "postgres/client/error.hpp"

#include <gtest/gtest.h>
#include <string>
#include <string_view>
#include <utility>

#include "perdure/core/error.hpp"

namespace perdure::postgres {
namespace {

PgError said(std::string_view sqlstate) {
  return PgError({std::string(sqlstate), "words", "subject"});
}

TEST(PgErrorTest, OurFunctionsChooseTheCode) {
  const std::pair<std::string_view, ErrorCode> raised[] = {
      {"PD001", ErrorCode::not_found},        {"PD002", ErrorCode::lease_lost},
      {"PD003", ErrorCode::conflict},         {"PD004", ErrorCode::already_exists},
      {"PD005", ErrorCode::invalid_argument}, {"PD006", ErrorCode::lease_held},
      {"PD007", ErrorCode::unsupported},      {"PD008", ErrorCode::corrupted},
      {"PD009", ErrorCode::unavailable},
  };
  for (const auto& [sqlstate, code] : raised) {
    const PgError error = said(sqlstate);
    EXPECT_EQ(error.to_error(), (Error{code, "words", "subject"})) << sqlstate;
    EXPECT_TRUE(error.is_answer()) << sqlstate;
    EXPECT_FALSE(error.may_be_repeated()) << sqlstate;
    EXPECT_FALSE(error.may_have_happened()) << sqlstate;
  }
}

TEST(PgErrorTest, AnEndedConnectionIsLostAndMayHaveDoneIt) {
  for (const auto* sqlstate : {"57P01", "57P02", "08003", "08006"}) {
    EXPECT_TRUE(said(sqlstate).is_lost()) << sqlstate;
    EXPECT_TRUE(said(sqlstate).may_be_repeated()) << sqlstate;
    EXPECT_TRUE(said(sqlstate).may_have_happened()) << sqlstate;
  }
  EXPECT_TRUE(PgError::lost("x", true).may_have_happened());
  EXPECT_FALSE(PgError::lost("x", false).may_have_happened());
}

TEST(PgErrorTest, AMessageTheServerDidNotUnderstandIsNotRepeated) {
  EXPECT_FALSE(said("08P01").is_lost());
  EXPECT_FALSE(said("08P01").may_be_repeated());
}

TEST(PgErrorTest, AServerThatTakesNoWritesIsAway) {
  for (const auto* sqlstate : {"57P03", "25006"}) {
    EXPECT_TRUE(said(sqlstate).is_away()) << sqlstate;
    EXPECT_TRUE(said(sqlstate).may_be_repeated()) << sqlstate;
    EXPECT_FALSE(said(sqlstate).may_have_happened()) << sqlstate;
  }
  EXPECT_TRUE(PgError::away("x").may_be_repeated());
}

TEST(PgErrorTest, WhoMayNotLogInNeedNotTryAgain) {
  EXPECT_FALSE(PgError::away("x", "28P01").may_be_repeated());
  EXPECT_FALSE(PgError::away("x", "3D000").may_be_repeated());
  EXPECT_TRUE(PgError::away("x", "53300").may_be_repeated());
}

TEST(PgErrorTest, WhoMayNotIsToldApartFromWhatIsNotThere) {
  for (const auto* sqlstate : {"28P01", "28000"}) {
    EXPECT_EQ(PgError::away("x", sqlstate).to_error(),
              (Error{ErrorCode::unavailable, "x", "authority"}));
  }
  EXPECT_EQ(said("42501").to_error().code, ErrorCode::unavailable);
  EXPECT_EQ(said("42501").to_error().subject, "authority");
  const Error missing = PgError::away("x", "3D000").to_error();
  EXPECT_EQ(missing.code, ErrorCode::not_found);
  EXPECT_EQ(missing.subject, "database");
  EXPECT_NE(missing.message.find("CREATE DATABASE"), std::string::npos);
}

TEST(PgErrorTest, WhatIsInTheWayOfOthersIsRepeated) {
  for (const auto* sqlstate : {"40001", "40P01", "55P03", "57014", "53300"}) {
    EXPECT_TRUE(said(sqlstate).may_be_repeated()) << sqlstate;
    EXPECT_FALSE(said(sqlstate).is_lost()) << sqlstate;
    EXPECT_EQ(said(sqlstate).to_error().code, ErrorCode::unavailable) << sqlstate;
  }
}

TEST(PgErrorTest, ThingsOfTheServerAreUnavailableInItsWords) {
  for (const auto* sqlstate : {"53100", "53200", "42P01", "XX000"}) {
    EXPECT_EQ(said(sqlstate).to_error(), (Error{ErrorCode::unavailable, "words", ""})) << sqlstate;
    EXPECT_FALSE(said(sqlstate).may_be_repeated()) << sqlstate;
  }
  EXPECT_NE(said("42501").to_error().message.find("grant"), std::string::npos);
}

TEST(PgErrorTest, WhatAServerCannotHoldIsTheCallersToChange) {
  EXPECT_EQ(said("22021").to_error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(said("54000").to_error().code, ErrorCode::invalid_argument);
}

TEST(PgErrorTest, DamagedPagesAreCorrupted) {
  EXPECT_EQ(said("XX001").to_error().code, ErrorCode::corrupted);
}

}  // namespace
}  // namespace perdure::postgres
