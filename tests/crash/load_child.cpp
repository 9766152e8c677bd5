// A writer under load: one thread a session, turn after turn, until somebody kills it.
//
//   crash_loader <location> <worker>
//
// Its input says which sessions to run (`take <session>`, at any time); the end of its
// input is its end. Its output, one line a write:
//
//   lease <session> <fence>
//   ack <session> <turn> <receipt>
//   trouble <what no writer should ever meet>

#include <fmt/format.h>
#include <iostream>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include "contract/describe.hpp"
#include "crash/load.hpp"
#include "perdure/store/store.hpp"

namespace {

using namespace perdure;  // NOLINT(google-build-using-namespace): a program of its own.

void say(const std::string& line) {
  const std::string text = line + "\n";
  if (write(STDOUT_FILENO, text.data(), text.size()) < 0) _exit(3);
}

template <class T>
T must(const char* what, Result<T> result) {
  if (!result) {
    say(fmt::format("trouble {}: {}: {}", what, to_string(result.error().code),
                    result.error().message));
    _exit(1);
  }
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

void commit_turn(Store& store, const Lease& lease, Version turn) {
  const Receipt receipt = must("commit", store.commit(lease, turn_batch(lease.session, turn)));
  if (receipt.version != turn) say(fmt::format("trouble turn {} became another version", turn));
  say(fmt::format("ack {} {} {}", lease.session.text(), turn, describe(receipt)));
}

void run_session(Store& store, const SessionId& id, const WorkerId& worker) {
  auto created = store.sessions().create({.id = id, .annotation = {}});
  if (!created && created.error().code != ErrorCode::already_exists)
    must("create", std::move(created));
  // At once, whoever died as its owner a moment ago.
  const Lease lease = must("acquire", store.ownership().acquire(id, worker));
  say(fmt::format("lease {} {}", id.text(), lease.fence));
  const Version last = must("read", store.sessions().read(id)).version;
  // The dead owner may not have heard of its last turn: a repeat must tell the same.
  for (Version turn = std::max<Version>(last, 1);; ++turn) commit_turn(store, lease, turn);
}

}  // namespace

int main(int count, char** words) {
  const std::span<char*> arguments(words, static_cast<std::size_t>(count));
  if (arguments.size() != 3) return 2;
  const auto store = must("open", open_store(arguments[1]));
  const auto worker = WorkerId::parse(arguments[2]).value();
  must("enroll", store->ownership().enroll({.id = worker, .host = "here", .pid = getpid()}));

  std::vector<std::thread> threads;
  std::string command;
  while (std::cin >> command && command == "take") {
    std::string session;
    std::cin >> session;
    threads.emplace_back(
        [&, id = SessionId::parse(session).value()] { run_session(*store, id, worker); });
  }
  _exit(0);
}
