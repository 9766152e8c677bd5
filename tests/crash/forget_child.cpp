// Forgets what a store file holds, and dies at a chosen write:
//
//   crash_forgetter <store file> <before|during|after> <write to die at>
//
// Says each step that was answered, and at the end of a run nobody killed "writes <count>".

#include <fmt/format.h>
#include <span>
#include <string>
#include <unistd.h>

#include "crash/forgetting.hpp"
#include "doubles/counting_vfs.hpp"
#include "store/sqlite/sqlite_store.hpp"

namespace {

using namespace perdure;  // NOLINT(google-build-using-namespace): a program of its own.

void say(const std::string& line) {
  const std::string text = line + "\n";
  if (write(STDOUT_FILENO, text.data(), text.size()) < 0) _exit(3);
}

int run(const std::string& path, const CountingVfs& vfs) {
  FakeClock clock;
  OpenOptions options;
  options.clock = &clock;
  auto store = sqlite::open_sqlite({.path = path, .open = options, .vfs = vfs.name()});
  if (!store) {
    say("cannot open: " + store.error().message);
    return 1;
  }
  clock.advance(std::chrono::hours(1));
  if (auto done = forget_all(**store, clock, say); !done) {
    say("failed: " + done.error().message);
    return 1;
  }
  store->reset();
  say(fmt::format("writes {}", vfs.write_calls()));
  return 0;
}

}  // namespace

int main(int count, char** words) {
  const std::span<char*> arguments(words, static_cast<std::size_t>(count));
  if (arguments.size() != 4) return 2;
  const auto moment = moment_from(arguments[2]);
  if (!moment) return 2;
  CountingVfs vfs("counting");
  vfs.skip_syncs();
  vfs.kill_at(std::stoull(arguments[3]), *moment);
  return run(arguments[1], vfs);
}
