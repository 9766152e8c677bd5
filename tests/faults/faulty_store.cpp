// What fails here outside of a test's own act throws: a test that is not set up is over.

#include "faults/faulty_store.hpp"

#include <fmt/format.h>
#include <stdexcept>
#include <utility>

#include "doubles/must.hpp"
#include "perdure/store/store.hpp"
#include "store/sqlite/sqlite_store.hpp"

namespace perdure {

FaultyStore::FaultyStore() : vfs_(fmt::format("faults {}", static_cast<const void*>(this))) {
  open();
}

void FaultyStore::open() {
  store_ = must(open_again());
  worker_ = mint<WorkerTag>(random_ids());
  must(store_->ownership().enroll({.id = worker_, .host = "here", .pid = 1}));
}

Result<std::unique_ptr<Store>> FaultyStore::open_again() {
  OpenOptions options;
  options.clock = &clock_;
  return sqlite::open_sqlite({.path = path(), .open = options, .vfs = vfs_.name()});
}

void FaultyStore::reopen() {
  store_.reset();
  open();
}

Lease FaultyStore::own(const std::string& name) {
  const auto id = SessionId::parse(name).value();
  const auto created = store_->sessions().create({.id = id});
  if (!created && created.error().code != ErrorCode::already_exists) {
    throw std::runtime_error(created.error().message);
  }
  return must(store_->ownership().acquire(id, worker_));
}

Batch FaultyStore::turn(const std::string& name, Version number, std::size_t bytes) {
  Batch batch;
  batch.id = BatchId::parse(fmt::format("{} turn {}", name, number)).value();
  batch.expected_head = number - 1;
  std::string text = fmt::format("{} says {}: ", name, number);
  text.resize(text.size() + bytes, static_cast<char>('a' + number % 26));
  batch.entries = {{.channel = "transcript",
                    .kind = "turn",
                    .fold = Fold::append,
                    .body = Body::from_bytes(std::move(text)),
                    .tally = {.turns = 1},
                    .at = {}}};
  return batch;
}

std::string FaultyStore::find_wrong_turn(const std::string& name, Version turns) {
  const auto entries = store_->log().read(SessionId::parse(name).value(), {});
  if (!entries) return entries.error().message;
  if (entries->size() != turns) return fmt::format("{} turns, not {}", entries->size(), turns);
  for (Version number = 1; number <= turns; ++number) {
    const Entry& entry = (*entries)[number - 1];
    const std::string wanted = fmt::format("{} says {}: ", name, number);
    const bool right = entry.position == number && entry.condition == Condition::intact &&
                       entry.body.bytes().starts_with(wanted);
    if (!right) return fmt::format("turn {} is not what was said", number);
  }
  return {};
}

}  // namespace perdure
