// The program itself, as a process: streams that end, stores that cannot be opened, exit codes; and what
// its decisions come to, on SQLite and PostgreSQL.

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <future>
#include <gtest/gtest.h>
#include <iterator>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "command/command.hpp"
#include "command/table.hpp"
#include "doubles/must.hpp"
#include "doubles/temp_folder.hpp"
#include "fixture.hpp"
#include "perdure/core/id.hpp"
#include "perdure/runtime/mail.hpp"
#include "perdure/runtime/session.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"

namespace perdure::cli {
namespace {

// Runs a line of sh with `perdure` in it; what it prints, and how it ends.
Said shell(const std::string& store, const std::string& line) {
  const std::string command = "perdure() { '" PERDURE_PROGRAM
                              "' \"$@\"; }; export PERDURE_STORE='" +
                              store + "' HOME=/nonexistent; " + line;
  FILE* pipe = ::popen(("bash -c '" +
                        [&] {
                          std::string quoted;
                          for (const char letter : command)
                            quoted += letter == '\'' ? "'\\''" : std::string(1, letter);
                          return quoted;
                        }() +
                        "' 2>&1 </dev/null")
                           .c_str(),
                       "r");
  Said said;
  std::array<char, 4096> room{};
  while (const std::size_t size = std::fread(room.data(), 1, room.size(), pipe))
    said.out.append(room.data(), size);
  const int status = ::pclose(pipe);
  said.exit = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return said;
}

class ProcessTest : public testing::Test {
 protected:
  ProcessTest() { fixture.fill(); }
  Said shell(const std::string& line) { return cli::shell(fixture.location(), line); }

  CliFixture fixture;
};

TEST_F(ProcessTest, AReaderThatHangsUpEndsItQuietly) {
  const Said said = shell(
      "for i in 1 2 3 4 5; do perdure -q sessions --all; perdure help; done | head -1; echo "
      "${PIPESTATUS[0]}");
  EXPECT_TRUE(said.out.starts_with("STATE")) << said.out;
  EXPECT_TRUE(said.out.ends_with("\n0\n")) << said.out;
  EXPECT_FALSE(said.out.contains("perdure:")) << said.out;
}

TEST_F(ProcessTest, OutputThatCannotBeWrittenIsAnError) {
  const Said said = shell("perdure sessions > /dev/full; echo $?");
  EXPECT_TRUE(said.out.contains("cannot be written")) << said.out;
  EXPECT_TRUE(said.out.ends_with("1\n")) << said.out;
}

TEST_F(ProcessTest, NothingButDataIsOnStdout) {
  EXPECT_EQ(shell("perdure sessions nobody 2>/dev/null").out, "");
  EXPECT_EQ(shell("perdure -q sessions nobody").out, "");
  EXPECT_EQ(shell("perdure show nobody 2>/dev/null; echo $?").out, "3\n");
}

TEST_F(ProcessTest, ColoursAreForTerminalsUnlessTheyAreForced) {
  EXPECT_FALSE(shell("perdure sessions").out.contains('\x1b'));
  EXPECT_TRUE(shell("CLICOLOR_FORCE=1 perdure sessions").out.contains('\x1b'));
  EXPECT_FALSE(shell("CLICOLOR_FORCE=1 NO_COLOR=1 perdure sessions").out.contains('\x1b'));
  EXPECT_TRUE(shell("NO_COLOR=1 perdure sessions --color always").out.contains('\x1b'));
}

TEST_F(ProcessTest, AStoreThatIsNotThereIsNotMade) {
  const TempFolder folder;
  const Said said = cli::shell(folder.file("none.db"), "perdure sessions");
  EXPECT_EQ(said.exit, 3);
  EXPECT_TRUE(said.out.contains("there is no store at")) << said.out;
  EXPECT_FALSE(std::filesystem::exists(folder.file("none.db")));
}

TEST_F(ProcessTest, AFileThatIsNoStoreIsRefused) {
  const TempFolder folder;
  std::ofstream(folder.file("letter.txt")) << std::string(9000, 'x');
  const std::string letter = folder.file("letter.txt");
  const std::vector<std::string> verbs = {"sessions", "check", "backup " + folder.file("b.db"),
                                          "salvage " + letter + " " + folder.file("s.db"),
                                          "copy " + folder.file("c.db") + " --yes"};
  for (const std::string& verb : verbs) {
    EXPECT_EQ(cli::shell(letter, "perdure " + verb).exit, 6) << verb;
  }
  EXPECT_EQ(shell("perdure copy " + letter + " ses_7k --yes").exit, 6);
  std::string left;
  for (const auto& file : std::filesystem::directory_iterator(folder.path()))
    left += file.path().filename().string();
  EXPECT_EQ(left, "letter.txt");
}

std::string names_in(const std::string& folder) {
  std::string names;
  for (const auto& file : std::filesystem::recursive_directory_iterator(folder))
    names += file.path().filename().string() + "\n";
  return names;
}

TEST_F(ProcessTest, ABundleGoesThroughAPipeAsItGoesIntoAFile) {
  const TempFolder folder;
  const Said said = shell("cd " + folder.path().string() +
                          " && mkdir passing && export TMPDIR=$PWD/passing && set -o pipefail && "
                          "perdure -q export ses_7k -o a.bundle > talk && "
                          "perdure export ses_7k -o - 2>> talk | tee b.bundle | "
                          "perdure -q import - --store x.db && cmp a.bundle b.bundle && "
                          "perdure -q show ses_7k --store x.db > shown && rm x.db*");
  EXPECT_EQ(said.exit, 0) << said.out;
  EXPECT_EQ(said.out, "Imported 1 session, 24 entries, 2 calls; every sum is right.\n");
  for (const char* name : {"a.bundle", "b.bundle", "passing", "talk", "shown"})
    std::filesystem::remove(folder.file(name));
  EXPECT_EQ(names_in(folder.path().string()), "");
}

TEST_F(ProcessTest, ABundleThatNobodyTakesIsNotExported) {
  const TempFolder folder;
  const Said said = shell("export TMPDIR=" + folder.path().string() +
                          "; exec 3> >(exit 0); wait $!; perdure export ses_7k -o - >&3");
  EXPECT_EQ(said.exit, 1) << said.out;
  EXPECT_TRUE(said.out.contains("not all of it could be written")) << said.out;
  EXPECT_FALSE(said.out.contains("Exported")) << said.out;
  EXPECT_EQ(names_in(folder.path().string()), "");
}

TEST_F(ProcessTest, AStoreIsNotMadeForABundleThatIsNone) {
  const TempFolder folder;
  const TempFolder elsewhere;
  const std::string bundle = elsewhere.file("cut.bundle");
  ASSERT_EQ(shell("perdure -q export ses_7k -o - | head -c 5000 > " + bundle).exit, 0);
  const auto import = [&](const std::string& line) {
    return shell("mkdir -p " + folder.file("passing") + "; export TMPDIR=" +
                 folder.file("passing") + "; " + line + " --store " + folder.file("x/new.db"));
  };
  const Said foreign = import("echo hello | perdure import -");
  EXPECT_EQ(foreign.exit, 2) << foreign.out;
  EXPECT_TRUE(foreign.out.contains("perdure: stdin is not a bundle")) << foreign.out;
  const Said cut = import("cat " + bundle + " | perdure import -");
  EXPECT_EQ(cut.exit, 6) << cut.out;
  EXPECT_TRUE(cut.out.contains("the bundle stdin is not what was exported")) << cut.out;
  EXPECT_EQ(import("perdure import " + bundle).exit, 6);
  EXPECT_EQ(import("perdure import " PERDURE_PROGRAM).exit, 2);
  EXPECT_EQ(names_in(folder.path().string()), "passing\n");
}

TEST_F(ProcessTest, AStoreIsNotMadeForSessionsThatDoNotGoThere) {
  const TempFolder folder;
  const std::string there = folder.file("new.db");
  EXPECT_EQ(shell("perdure copy " + there + " ses_0chi1d --yes").exit, 1);
  EXPECT_EQ(shell("perdure copy " + there + " ses_9pq4 --yes").exit, 5);
  EXPECT_EQ(shell("perdure copy " + there + " ses_7k").exit, 9);
  EXPECT_EQ(shell("perdure copy " + there + " --abandon").exit, 3);
  EXPECT_EQ(names_in(folder.path().string()), "");
  EXPECT_EQ(shell("perdure copy " + there + " ses_0chi1d --yes --with-relatives").exit, 0);
}

TEST_F(ProcessTest, SessionsAreNotMovedToWhereTheyWouldBeLost) {
  EXPECT_EQ(shell("perdure copy memory: ses_7k --yes").exit, 2);
  EXPECT_EQ(shell("perdure -q sessions state:moved").out, "");
}

// A copy of the store that nobody has open.
std::string copied_store(CliFixture& fixture, const TempFolder& folder) {
  must(fixture.store().upkeep().backup(folder.file("copy.db")));
  return folder.file("copy.db");
}

TEST_F(ProcessTest, ANewerFormatIsRefusedAndUntouched) {
  const TempFolder folder;
  const std::string path = copied_store(fixture, folder);
  {
    // SQLite keeps a database's user_version at byte 60 of its file.
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(60);
    file.write("\0\0\x7f\xff", 4);
  }
  const auto before = std::filesystem::last_write_time(path);
  const Said said = cli::shell(path, "perdure sessions");
  EXPECT_EQ(said.exit, 10) << said.out;
  EXPECT_TRUE(said.out.starts_with("perdure: ")) << said.out;
  EXPECT_EQ(std::filesystem::last_write_time(path), before);
}

TEST_F(ProcessTest, ADamagedPageIsFoundAndTheRestIsSaved) {
  const TempFolder folder;
  const std::string path = copied_store(fixture, folder);
  ASSERT_EQ(cli::shell(path, "perdure check").exit, 0);
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    const auto at = text.find("Weekly report");
    ASSERT_NE(at, std::string::npos);
    file.clear();
    file.seekp(static_cast<std::streamoff>(at));
    file.write("Daily", 5);
  }
  const Said said = cli::shell(path, "perdure check");
  EXPECT_EQ(said.exit, 6) << said.out;
  EXPECT_TRUE(said.out.contains("perdure salvage")) << said.out;
  EXPECT_EQ(cli::shell(path, "perdure sessions").exit, 0);
  const Said saved = cli::shell(path, "perdure salvage " + path + " " + folder.file("saved.db"));
  EXPECT_EQ(saved.exit, 0) << saved.out;
  EXPECT_EQ(cli::shell(folder.file("saved.db"), "perdure check").exit, 0);
}

TEST_F(ProcessTest, WhatNoSalvageCanMendIsNamedAndNotToBeSalvagedAgain) {
  const TempFolder folder;
  const std::string path = copied_store(fixture, folder);
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    const auto at = text.find("bat_000");
    ASSERT_NE(at, std::string::npos);
    file.clear();
    file.seekp(static_cast<std::streamoff>(at + 5));
    file.write("1", 1);
  }
  EXPECT_TRUE(cli::shell(path, "perdure check").out.contains("perdure salvage"));
  const std::string saved = folder.file("saved.db");
  const Said salvaged = cli::shell(path, "perdure salvage " + path + " " + saved);
  EXPECT_EQ(salvaged.exit, 0) << salvaged.out;
  EXPECT_TRUE(salvaged.out.contains("does not match the hash chain")) << salvaged.out;
  EXPECT_TRUE(salvaged.out.contains("no salvage can mend that")) << salvaged.out;
  const Said checked = cli::shell(saved, "perdure check");
  EXPECT_EQ(checked.exit, 6) << checked.out;
  EXPECT_TRUE(checked.out.contains("does not match the hash chain")) << checked.out;
  EXPECT_FALSE(checked.out.contains("perdure salvage")) << checked.out;
  EXPECT_TRUE(checked.out.contains("--with-damage")) << checked.out;
}

// The test may be root's, whom no permission stops: then the program runs as nobody.
TEST_F(ProcessTest, AStoreThatMayNotBeWrittenOrReadIsSaid) {
  const TempFolder folder;
  const std::string path = copied_store(fixture, folder);
  namespace fs = std::filesystem;
  fs::copy_file(PERDURE_PROGRAM, folder.file("perdure"));
  fs::permissions(folder.path(),
                  fs::perms::owner_all | fs::perms::others_read | fs::perms::others_exec);
  const std::string as_nobody =
      ::getuid() == 0 ? "setpriv --reuid=65534 --regid=65534 --clear-groups " : "";
  fs::permissions(path, fs::perms::owner_read | fs::perms::others_read);
  const Said unwritable = cli::shell(path, as_nobody + folder.file("perdure") + " sessions");
  EXPECT_EQ(unwritable.exit, 4) << unwritable.out;
  EXPECT_TRUE(unwritable.out.contains("may not be read and written by you")) << unwritable.out;
  fs::permissions(path, fs::perms::none);
  const Said unreadable = cli::shell(path, as_nobody + folder.file("perdure") + " sessions");
  EXPECT_EQ(unreadable.exit, 4) << unreadable.out;
}

TEST_F(ProcessTest, ASessionInUseIsLeftAlone) {
  const Said said = shell("perdure delete ses_9pq4 --yes");
  EXPECT_EQ(said.exit, 5);
  EXPECT_TRUE(said.out.contains("is held by")) << said.out;
  EXPECT_EQ(shell("perdure show ses_9pq4").exit, 0);
}

TEST_F(ProcessTest, NobodyIsAskedWhereNobodyCanAnswer) {
  EXPECT_EQ(shell("perdure delete ses_01d0").exit, 9);
  EXPECT_EQ(shell("echo y | perdure delete ses_01d0; exit ${PIPESTATUS[1]}").exit, 9);
  EXPECT_EQ(shell("perdure show ses_01d0").exit, 0);
  EXPECT_EQ(shell("perdure delete ses_01d0 --yes").exit, 0);
  EXPECT_EQ(shell("perdure show ses_01d0").exit, 3);
}

TEST_F(ProcessTest, AFollowedLogShowsWhatIsAppended) {
  // The reader ends with the entry it waits for; the program, with its reader.
  FILE* pipe =
      ::popen(("PERDURE_STORE='" + fixture.location() +
               "' timeout 30 '" PERDURE_PROGRAM "' log --follow ses_9pq4 --channel notes | head -1")
                  .c_str(),
              "r");
  must(fixture.running().append("notes", Body::from_text("\"hello\"")));
  std::array<char, 200> room{};
  ASSERT_NE(std::fgets(room.data(), room.size(), pipe), nullptr);
  EXPECT_TRUE(std::string(room.data()).contains("hello")) << room.data();
  must(fixture.running().append("notes", Body::from_text("\"more\"")));
  EXPECT_EQ(::pclose(pipe), 0);
}

TEST_F(ProcessTest, ManPagesAreReadByMan) {
  const TempFolder folder;
  const Said said =
      shell("perdure reference man " + folder.path().string() + " && cd " + folder.path().string() +
            " && for page in *.1; do man --warnings -l $page 2>&1 >/dev/null; done; ls | wc -l");
  const auto pages = std::ranges::count(commands(), false, &Command::is_hidden) + 1;
  EXPECT_EQ(said.out, std::to_string(pages) + "\n");
}

class OnPostgres : public testing::Test {
 protected:
  OnPostgres() { fixture.fill(); }
  CliFixture fixture{{"postgres", Home::schema}};
};

TEST_F(OnPostgres, VerbsLookDecideAndForget) {
  EXPECT_TRUE(fixture.run({"sessions"}).out.contains("needs attention"));
  EXPECT_TRUE(fixture.run({"timeline", "ses_7k2m"}).out.contains("settled by ana"));
  EXPECT_TRUE(fixture.run({"diff", "ses_7k2m@1", "ses_7k2m@2"}).out.contains("messages +4"));
  EXPECT_TRUE(fixture.run({"fork", "ses_7k2m@2.0"}).out.contains("pay.refund"));
  EXPECT_TRUE(fixture.run({"pending"}).out.contains("ses_2b7x00:6"));
  EXPECT_EQ(
      fixture
          .run({"resolve", "ses_2b7x", "--as", "succeeded", "--result", "rf_1", "--reason", "seen"})
          .exit,
      0);
  EXPECT_FALSE(fixture.run({"pending"}).out.contains("ses_2b7x00:6"));
  EXPECT_EQ(fixture.run({"cancel", "ses_5d0c"}).exit, 0);
  EXPECT_TRUE(fixture.run({"sessions", "state:cancelled"}).out.contains("ses_5d0c00"));
  EXPECT_EQ(fixture.run({"delete", "ses_01d0", "--yes"}).exit, 0);
  EXPECT_EQ(fixture.run({"check"}).exit, 0);
  EXPECT_EQ(fixture.run({"show", "ses_01d0"}).exit, 3);
  EXPECT_TRUE(fixture.run({"--json", "doctor"}).out.contains("\"backend\":\"postgres\""));
}

class DecisionTest : public testing::Test {
 protected:
  DecisionTest() { fixture.fill(); }
  CliFixture fixture;
};

TEST_F(DecisionTest, ASessionThatWaitedIsTakenUpAgain) {
  fixture.run({"approve", "ses_8e1f"});
  EXPECT_EQ(must(fixture.store().sessions().read(must(SessionId::parse("ses_8e1f00")))).status,
            Status::active);
  const auto due = must(fixture.store().sessions().due(10));
  EXPECT_TRUE(std::ranges::any_of(
      due, [](const SessionSummary& row) { return row.id.text() == "ses_8e1f00"; }));
}

TEST_F(DecisionTest, AnOwnerThatLivesKeepsItsLeaseAndGetsTheLetter) {
  const Said said = fixture.run({"cancel", "ses_9pq4", "--reason", "enough"});
  EXPECT_EQ(said.exit, 0);
  EXPECT_TRUE(said.out.contains("left in its inbox")) << said.out;
  EXPECT_EQ(fixture.running().status(), Status::active);
  EXPECT_EQ(must(fixture.running().take_inbox()), 1U);
  EXPECT_EQ(fixture.running().status(), Status::cancelled);
}

TEST_F(DecisionTest, AWordIsTakenBackUntilTheCallIsMade) {
  EXPECT_EQ(fixture.run({"approve", "ses_8e1f"}).exit, 0);
  const Said denied = fixture.run({"deny", "ses_8e1f", "--reason", "on second thoughts"});
  EXPECT_EQ(denied.exit, 0) << denied.err;
  const auto words = must(
      fixture.store().log().read(must(SessionId::parse("ses_8e1f00")), {.channel = "approvals"}));
  EXPECT_EQ(words.back().kind, "refused");
}

TEST_F(DecisionTest, AWordThatComesTooLateIsNotToldAsGiven) {
  const auto id = must(SessionId::parse("ses_8e1f00"));
  fixture.ids.meanwhile = [&] {
    Session session = must(fixture.runtime().open(id));
    must(session.set_status({.status = Status::active}));
    must(session.approve(session.state().open_calls.begin()->first, true, "ben", "fine"));
    must(session.run_calls({}));
    must(session.close());
  };
  const Said late = fixture.run({"deny", "ses_8e1f", "--reason", "on second thoughts"});
  EXPECT_EQ(late.exit, 1) << late.out;
  EXPECT_TRUE(late.err.contains("what you said does not count")) << late.err;
  EXPECT_EQ(late.out, "");
}

const std::vector<std::string> resolve_as_failed = {"resolve", "ses_2b7x", "--as",     "failed",
                                                    "--error", "no",       "--reason", "not there"};

TEST_F(DecisionTest, WhoeverDecidesTooLateHearsWhatStands) {
  const SessionId session = must(SessionId::parse("ses_2b7x00"));
  Mail mail(fixture.store(), session);
  must(
      mail.resolve(must(MessageId::parse("msg_first")), 6,
                   {.as = Decision::As::succeeded, .result = "rf_1", .who = "bob", .why = "seen"}));
  const Said said = fixture.run(resolve_as_failed);
  EXPECT_EQ(said.exit, 1);
  EXPECT_TRUE(said.err.contains("ses_2b7x00:6 (pay.refund) is succeeded meanwhile, by bob (seen)"))
      << said.err;
  EXPECT_FALSE(said.out.contains("failed, by ana")) << said.out;
  EXPECT_EQ(must(fixture.store().ledger().read(session, 6)).who, "bob");
}

TEST_F(DecisionTest, AnEarlierDecisionToRetryGivesWay) {
  Mail mail(fixture.store(), must(SessionId::parse("ses_2b7x00")));
  must(mail.resolve(must(MessageId::parse("msg_first")), 6,
                    {.as = Decision::As::retry, .who = "bob", .why = "not seen"}));
  EXPECT_EQ(fixture.run(resolve_as_failed).exit, 0);
}

TEST_F(DecisionTest, WhoeverAllowsWhatIsGivenUpHearsIt) {
  const SessionId session = must(SessionId::parse("ses_8e1f00"));
  Mail mail(fixture.store(), session);
  must(mail.cancel(must(MessageId::parse("msg_first")), "bob", "enough"));
  const Said said = fixture.run({"approve", "ses_8e1f00"});
  EXPECT_EQ(said.exit, 1);
  EXPECT_TRUE(said.err.contains("mail.send) is cancelled meanwhile")) << said.err;
}

TEST_F(DecisionTest, AnOwnerThatTakesItUpIsWaitedFor) {
  const SessionId session = must(SessionId::parse("ses_2b7x00"));
  Store& store = fixture.store();
  Session owner = fixture.hold(session);
  std::future<Said> resolving =
      std::async(std::launch::async, [&] { return fixture.run(resolve_as_failed); });
  for (auto seen = must(store.changes().current()); must(store.inbox().list(session, 1)).empty();) {
    seen = must(store.changes().wait(seen, std::chrono::seconds(10)));
  }
  EXPECT_EQ(must(owner.take_inbox()), 1U);
  const Said said = resolving.get();
  EXPECT_EQ(said.exit, 0) << said.err;
  EXPECT_EQ(said.out, "ses_2b7x00:6: failed, by ana.\n");
}

// The one that holds the session is only another decision: it goes, and each is taken in.
TEST_F(ProcessTest, OfDecisionsAtTheSameTimeOneStandsAndTheOthersHearIt) {
  const Said said = shell(
      "perdure -q resolve ses_2b7x --as succeeded --result R --reason a & one=$!; "
      "perdure -q resolve ses_2b7x --as failed --error E --reason b & two=$!; "
      "perdure -q resolve ses_2b7x --as abandoned --reason c & three=$!; "
      "for each in $one $two $three; do wait $each && echo =done; done");
  const auto first = said.out.find("=done");
  ASSERT_NE(first, std::string::npos) << said.out;
  EXPECT_EQ(said.out.find("=done", first + 1), std::string::npos) << said.out;
  EXPECT_FALSE(said.out.contains("left in its inbox")) << said.out;
}

TEST_F(DecisionTest, APersonAtATerminalIsAsked) {
  fixture.typed = "n";
  EXPECT_EQ(fixture.run({"delete", "ses_01d0"}, 80).exit, 9);
  fixture.typed = "y";
  EXPECT_EQ(fixture.run({"delete", "ses_01d0"}, 80).exit, 0);
  EXPECT_EQ(fixture.run({"show", "ses_01d0"}).exit, 3);
}

TEST_F(DecisionTest, ARetryOfAnUnsafeCallIsRecordedOnceItIsConfirmed) {
  fixture.typed = "yes";
  EXPECT_EQ(fixture.run({"resolve", "ses_2b7x", "--as", "retry", "--reason", "not there"}, 80).exit,
            0);
  const auto found =
      must(fixture.store().log().read(must(SessionId::parse("ses_2b7x00")), {.channel = "calls"}));
  EXPECT_EQ(found.back().kind, "resolution");
}

}  // namespace
}  // namespace perdure::cli
