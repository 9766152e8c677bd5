// Two stores, and a bundle between them.

#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sstream>
#include <string>
#include <vector>

#include "copy/two_stores.hpp"
#include "doubles/must.hpp"
#include "doubles/temp_folder.hpp"
#include "store/api/transfer.hpp"

namespace perdure {

inline SessionId named(const std::string& name) { return must(SessionId::parse(name)); }

/// Without the lines that say what state sessions are in: those are changed on purpose.
inline std::string but_for_rows(const std::string& portrait) {
  std::string kept;
  std::istringstream lines(portrait);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("session ") && !line.starts_with("restored ")) kept += line + "\n";
  }
  return kept;
}

class BundleTest : public TwoStores {
 protected:
  std::vector<SessionSummary> rows(Store& store) {
    SessionQuery all{.sort = SessionSort::created, .descending = false, .limit = 1000};
    return must(store.sessions().list(all)).sessions;
  }

  void expect_untouched() {
    EXPECT_THAT(rows(*to), testing::IsEmpty());
    EXPECT_EQ(must(to->transfer().read({.owners = {}, .arrival = {.from = "bundle"}}, {})).attempt,
              0U);
    const auto report = must(to->upkeep().check());
    EXPECT_TRUE(report.is_sound());
    EXPECT_EQ(report.entries, 0U);
  }

  TempFolder folder;
  const std::string path = folder.file("sessions.bundle");
};

}  // namespace perdure
