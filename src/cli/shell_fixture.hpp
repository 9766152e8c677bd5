// The program itself, as a process: a filled store, and a shell that has `perdure` in it.

#pragma once

#include <gtest/gtest.h>
#include <string>

#include "fixture.hpp"

namespace perdure::cli {

/// Runs a line of bash with that store. What it says on either stream is in `out`.
Said shell(const std::string& store, const std::string& line);

class ShellFixture : public testing::Test {
 protected:
  ShellFixture() { fixture.fill(); }

  Said shell(const std::string& line) { return cli::shell(fixture.location(), line); }

  CliFixture fixture;
};

}  // namespace perdure::cli
