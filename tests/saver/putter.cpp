// A process that puts until somebody kills it, or so often as it is told.
//
//   saver_putter <location> puts <name> <count>       one thread, a list that grows; says
//                                                 "put <checkpoint id> <number>" after each
//   saver_putter <location> claim <key>               claims a step of the thread "t" and waits
//   saver_putter <location> steps <count>             does so many steps; says "ran <n>" for each
//                                                 that was not done before

#include <fmt/format.h>
#include <iostream>
#include <memory>
#include <span>
#include <string>
#include <unistd.h>
#include <utility>
#include <variant>

#include "perdure/adapters/saver.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "saver/growing_state.hpp"
#include "saver/open_saver_at.hpp"

namespace {

using namespace perdure;  // NOLINT(google-build-using-namespace): a program of its own.

void say(const std::string& line) {
  const std::string text = line + "\n";
  if (write(STDOUT_FILENO, text.data(), text.size()) < 0) _exit(3);
}

template <class T>
T must(Result<T> result) {
  if (!result) {
    say(fmt::format("trouble {}: {}", to_string(result.error().code), result.error().message));
    _exit(1);
  }
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

void run_puts(CheckpointSaver& saver, const std::string& name, int count) {
  for (int number = 1; number <= count; ++number) {
    const auto made = must(saver.put("t", RawJson::from_text(growing_state(name, number)).value()));
    say(fmt::format("put {} {} {}", made.id, name, number));
  }
}

void run_claim(CheckpointSaver& saver, const std::string& key) {
  const auto answer = must(saver.claim_step("t", key, "f"));
  say(std::holds_alternative<CheckpointSaver::StepClaim>(answer) ? "claimed" : "not claimed");
  std::string line;
  std::getline(std::cin, line);
}

void run_steps(CheckpointSaver& saver, int count) {
  for (int number = 1; number <= count; ++number) {
    const auto answer = must(saver.claim_step("t", std::to_string(number), "f"));
    const auto* claim = std::get_if<CheckpointSaver::StepClaim>(&answer);
    if (claim == nullptr) continue;
    say(fmt::format("ran {}", number));
    must(saver.fill_step(*claim, RawJson::from_text(std::to_string(number)).value()));
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::span arguments(argv, static_cast<std::size_t>(argc));
  const std::string what = arguments[2];
  const auto saver = must(open_saver_at(arguments[1]));
  if (what == "puts") run_puts(*saver, arguments[3], std::stoi(arguments[4]));
  if (what == "claim") run_claim(*saver, arguments[3]);
  if (what == "steps") run_steps(*saver, std::stoi(arguments[3]));
  say("done");
}
