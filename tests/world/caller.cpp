// A client that dies, or a test that does:
//
//   world_caller call <socket> <op> <before|sent|answered|never>   kills itself at that moment
//   world_caller own <folder>                                      starts a world and waits
//
// The caller says "answered" if it lives to hear the answer; the owner says "ready".

#include <signal.h>  // NOLINT(modernize-deprecated-headers): raise is fine, SIGKILL is POSIX.
#include <span>
#include <string>
#include <string_view>
#include <unistd.h>
#include <variant>

#include "world/client.hpp"
#include "world/world.hpp"

namespace {

using namespace perdure;  // NOLINT(google-build-using-namespace): a program of its own.

int call(const std::string& socket, const std::string& op, std::string_view death) {
  const WorldClient client(socket, [death](world::Moment moment) {
    const bool is_now = (death == "before" && moment == world::Moment::before_request) ||
                        (death == "sent" && moment == world::Moment::after_request) ||
                        (death == "answered" && moment == world::Moment::after_answer);
    if (is_now) raise(SIGKILL);
  });
  const auto reply = client.effect({.op = op, .key = "key of " + op, .tool = "caller"});
  if (!std::holds_alternative<world::Answered>(reply)) return 1;
  return write(STDOUT_FILENO, "answered\n", 9) == 9 ? 0 : 1;
}

int own(const std::string& folder) {
  const World world(folder);
  if (write(STDOUT_FILENO, "ready\n", 6) != 6) return 1;
  char ignored = 0;
  return static_cast<int>(read(STDIN_FILENO, &ignored, 1));
}

}  // namespace

int main(int count, char** words) {
  const std::span<char*> arguments(words, static_cast<std::size_t>(count));
  if (arguments.size() == 5) return call(arguments[2], arguments[3], arguments[4]);
  return arguments.size() == 3 ? own(arguments[2]) : 2;
}
