// Imports a bundle into a store file, and dies at a chosen write to it:
//
//   copy_importer <bundle> <store> <before|during|after> <write to die at>

#include <span>
#include <string>
#include <unistd.h>

#include "doubles/counting_vfs.hpp"
#include "doubles/fake_clock.hpp"
#include "store/api/bundle.hpp"
#include "store/sqlite/sqlite_store.hpp"

namespace {

using namespace perdure;  // NOLINT(google-build-using-namespace): a program of its own.

int say(const std::string& line) {
  const std::string text = line + "\n";
  return write(STDOUT_FILENO, text.data(), text.size()) < 0 ? 3 : 1;
}

int run(const std::string& bundle, const std::string& path, const CountingVfs& vfs) {
  FakeClock clock;
  OpenOptions options;
  options.clock = &clock;
  auto store =
      sqlite::open_sqlite({.location = path, .path = path, .open = options, .vfs = vfs.name()});
  if (!store) return say("cannot open: " + store.error().message);
  const auto imported = import_bundle(**store, bundle);
  return imported ? 0 : say("failed: " + imported.error().message);
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
