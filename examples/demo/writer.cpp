// What a program has to do after a crash is what it does at its first start: open,
// acquire, read where the session stands, repeat the last batch, go on.

#include "writer.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "perdure/store/open.hpp"
#include "turn.hpp"

namespace demo {

using namespace perdure;  // NOLINT(google-build-using-namespace): an example.

namespace {

void say(const std::string& line) {
  const std::string text = line + "\n";
  // Nobody listens any more: there is nothing left to do.
  if (write(STDOUT_FILENO, text.data(), text.size()) < 0) _exit(3);
}

Result<void> commit_turn(Store& store, const Lease& lease, Version turn) {
  say(fmt::format("begin {}", turn));
  const auto receipt = store.commit(lease, turn_batch(turn));
  if (!receipt) return std::unexpected(receipt.error());
  say(fmt::format("done {} {}", turn, to_hex(receipt->chain)));
  return {};
}

Result<void> run(const std::string& path) {
  auto store = open_store(path);
  if (!store) return forward(store);
  auto created = (*store)->sessions().create({.id = session_id(), .annotation = {.title = "Demo"}});
  if (!created && created.error().code != ErrorCode::already_exists) return forward(created);

  const auto worker = mint<WorkerTag>(random_ids());
  if (auto enrolled = (*store)->ownership().enroll({.id = worker, .pid = getpid()}); !enrolled)
    return enrolled;
  auto lease = (*store)->ownership().acquire(session_id(), worker);
  if (!lease) return forward(lease);
  auto session = (*store)->sessions().read(session_id());
  if (!session) return forward(session);
  say(fmt::format("found {}", session->version));

  // The one before may have died without hearing of its last turn. Asking again is safe:
  // the store answers with the first receipt and writes nothing.
  for (Version turn = std::max<Version>(session->version, 1);; ++turn) {
    if (auto committed = commit_turn(**store, *lease, turn); !committed) return committed;
  }
}

}  // namespace

int write_turns(const std::string& store_path) {
  const auto ended = run(store_path);
  say(fmt::format("trouble {}: {}", to_string(ended.error().code), ended.error().message));
  return 1;
}

}  // namespace demo
