// Who may look into what the program keeps in a home folder: whatever the umask is.

#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <optional>
#include <sstream>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

#include "context/settings.hpp"
#include "doubles/must.hpp"
#include "doubles/temp_folder.hpp"
#include "recovery/live_agent.hpp"

namespace perdure::cli {
namespace {

class StateFolder : public testing::Test {
 protected:
  StateFolder() : before_(::umask(0)) {}
  ~StateFolder() override { ::umask(before_); }

  [[nodiscard]] mode_t rights() const {
    struct stat status{};
    return ::stat(state_folder(io).c_str(), &status) == 0 ? status.st_mode & 07777U : 0;
  }

  TempFolder folder = TempFolder::in_memory();
  std::ostringstream out;
  ProcessIo io{.out = out, .err = out, .environment = [this](const std::string& name) {
                 return name == "XDG_STATE_HOME" ? std::optional(folder.file("state"))
                                                 : std::nullopt;
               }};

 private:
  const mode_t before_;
};

TEST_F(StateFolder, IsItsOwnersAloneWhateverTheUmask) {
  for (const mode_t mask : {0U, 022U, 0277U, 0777U}) {
    std::filesystem::remove_all(state_folder(io));
    ::umask(mask);
    must(make_state_folder(io));
    EXPECT_EQ(rights(), 0700U) << mask;
  }
}

TEST_F(StateFolder, IsTightenedIfItIsThere) {
  std::filesystem::create_directories(state_folder(io));
  ASSERT_EQ(::chmod(state_folder(io).c_str(), 0777), 0);
  must(make_state_folder(io));
  EXPECT_EQ(rights(), 0700U);
}

TEST_F(StateFolder, OfAnotherUserIsNotUsed) {
  std::filesystem::create_directories(state_folder(io));
  io.user_id = ::geteuid() + 1;
  for (const mode_t rights : {0755U, 0733U, 0U}) {
    ASSERT_EQ(::chmod(state_folder(io).c_str(), rights), 0);
    const auto made = make_state_folder(io);
    ASSERT_FALSE(made) << rights;
    EXPECT_EQ(made.error().subject, "authority");
  }
}

TEST_F(StateFolder, IsMadeWithFoldersThatNobodyElseMayWrite) {
  must(make_state_folder(io));
  struct stat status{};
  ASSERT_EQ(::stat(folder.file("state").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0700U);
}

}  // namespace
}  // namespace perdure::cli
