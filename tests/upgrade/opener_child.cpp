// Opens a store as the next build would, and dies around the write call it is told:
//
//   upgrade_opener <store file> <before|during|after> <write to die at>
//
// Says "opened" when the store is open; exits 0 if nobody killed it.

#include <span>
#include <string>
#include <unistd.h>

#include "doubles/counting_vfs.hpp"
#include "doubles/fake_clock.hpp"
#include "doubles/next_format.hpp"
#include "store/sqlite/sqlite_store.hpp"

int main(int count, char** words) {
  using namespace perdure;  // NOLINT(google-build-using-namespace): a program of its own.
  const std::span<char*> arguments(words, static_cast<std::size_t>(count));
  if (arguments.size() != 4) return 2;
  const auto moment = moment_from(arguments[2]);
  if (!moment) return 2;
  CountingVfs vfs("counting");
  vfs.skip_syncs();
  vfs.kill_at(std::stoull(arguments[3]), *moment);
  FakeClock clock;
  OpenOptions options;
  options.clock = &clock;
  const auto store = sqlite::open_sqlite(
      {.path = arguments[1], .open = options, .vfs = vfs.name(), .steps = next_sqlite_steps});
  if (!store) return 1;
  return write(STDOUT_FILENO, "opened\n", 7) == 7 ? 0 : 3;
}
