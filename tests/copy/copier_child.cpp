// Copies one store file into another, and dies at a chosen write to either of them:
//
//   copy_copier <source> <target> <before|during|after> <write to die at>
//
// Says "writes <count>" at the end of a run nobody killed.

#include <fmt/format.h>
#include <span>
#include <string>
#include <unistd.h>

#include "doubles/counting_vfs.hpp"
#include "doubles/fake_clock.hpp"
#include "perdure/store/copy.hpp"
#include "store/sqlite/sqlite_store.hpp"

namespace {

using namespace perdure;  // NOLINT(google-build-using-namespace): a program of its own.

void say(const std::string& line) {
  const std::string text = line + "\n";
  if (write(STDOUT_FILENO, text.data(), text.size()) < 0) _exit(3);
}

int run(const std::string& from_path, const std::string& to_path, const CountingVfs& vfs) {
  FakeClock clock;
  OpenOptions options;
  options.clock = &clock;
  auto from = sqlite::open_sqlite(
      {.location = from_path, .path = from_path, .open = options, .vfs = vfs.name()});
  auto to = sqlite::open_sqlite(
      {.location = to_path, .path = to_path, .open = options, .vfs = vfs.name()});
  if (!from || !to) {
    say("cannot open: " + (from ? to : from).error().message);
    return 1;
  }
  if (auto copied = copy_store(**from, **to); !copied) {
    say("failed: " + copied.error().message);
    return 1;
  }
  from->reset();
  to->reset();
  say(fmt::format("writes {}", vfs.write_calls()));
  return 0;
}

}  // namespace

int main(int count, char** words) {
  const std::span<char*> arguments(words, static_cast<std::size_t>(count));
  if (arguments.size() != 5) return 2;
  const auto moment = moment_from(arguments[3]);
  if (!moment) return 2;
  CountingVfs vfs("counting");
  vfs.skip_syncs();
  vfs.kill_at(std::stoull(arguments[4]), *moment);
  return run(arguments[1], arguments[2], vfs);
}
