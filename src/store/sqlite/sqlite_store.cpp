// What a doctor says of a store's place, then the store object that holds everything together. Its
// members are in the order they depend on each other.

#include "sqlite/sqlite_store.hpp"

#include <atomic>
#include <cstdint>
#include <expected>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <string>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <system_error>
#include <utility>
#include <vector>

#include "core/api/own_process.hpp"
#include "files/file_lock.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "perdure/store/upkeep.hpp"
#include "rules/chain.hpp"
#include "rules/checks.hpp"
#include "rules/followed.hpp"
#include "sqlite/check/check.hpp"
#include "sqlite/engine/commit.hpp"
#include "sqlite/engine/connection.hpp"
#include "sqlite/engine/lock_file.hpp"
#include "sqlite/engine/readers.hpp"
#include "sqlite/engine/roles.hpp"
#include "sqlite/engine/schema.hpp"
#include "sqlite/engine/summing_vfs.hpp"
#include "sqlite/engine/workers.hpp"
#include "sqlite/engine/writer.hpp"
#include "sqlite/opening/opening.hpp"
#include "store/api/lookup.hpp"
#include "store/api/transfer.hpp"

namespace perdure::sqlite {
namespace {

// A file has little that can be set wrong: how it is synced, whether its pages have sums, who may read
// it, and whether there is room for it to grow.

Remark fine(std::string topic, std::string what) {
  return {
      .gravity = Gravity::fine, .topic = std::move(topic), .what = std::move(what), .advice = {}};
}

Remark warning(std::string topic, std::string what, std::string advice) {
  return {.gravity = Gravity::warning,
          .topic = std::move(topic),
          .what = std::move(what),
          .advice = std::move(advice)};
}

Remark look_at_syncs(Durability durability) {
  if (durability == Durability::full) {
    return fine("disk", "a commit is on disk before it is acknowledged");
  }
  return {.gravity = Gravity::danger,
          .topic = "disk",
          .what = "opened with Durability::process: a machine that dies takes commits with it",
          .advice = "open it with Durability::full"};
}

Remark look_at_sums(bool has_sums) {
  if (has_sums) return fine("sums", "every page has a sum, so a check finds any changed byte");
  return warning("sums",
                 "the pages have no sums, as in a file that another program made: a check does "
                 "not see all damage",
                 "copy it into a new store");
}

Remark look_at_rights(const std::string& path) {
  struct stat status{};
  const bool is_known = ::stat(path.c_str(), &status) == 0;
  if (is_known && (status.st_mode & (S_IRGRP | S_IROTH)) == 0) {
    return fine("rights", "only the file's owner may read the store");
  }
  const bool is_for_all = (status.st_mode & S_IROTH) != 0;
  return warning("rights",
                 !is_known    ? "who may read the file is not known"
                 : is_for_all ? "everybody on this machine may read what was said"
                              : "the file's group may read what was said",
                 fmt::format("unless that is meant: chmod 600 {0} {0}-*", path));
}

// When it is full, commits fail, and what was committed stays.
Remark look_at_room(const std::string& path) {
  constexpr std::uint64_t mib = 1U << 20U;
  constexpr std::uint64_t enough_mib = 64;
  struct statvfs status{};
  if (::statvfs(path.c_str(), &status) != 0) {
    return warning("space", "how much space is free is not known", {});
  }
  const std::uint64_t free_mib = std::uint64_t{status.f_bavail} * status.f_frsize / mib;
  std::string what = fmt::format("{} MiB are free on the disk that holds the store", free_mib);
  if (free_mib >= enough_mib) return fine("space", std::move(what));
  return warning("space", std::move(what),
                 "free some: without space every commit fails. Nothing that was committed is lost");
}

class SqliteStore final : public SqliteRoles {
 public:
  SqliteStore(const SqliteOptions& options, LockFile lock_file)
      : SqliteRoles({writer_, readers_, workers_, *options.open.clock}),
        options_(options),
        lock_file_(std::move(lock_file)),
        connection_(options.path, options.vfs,
                    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, &rows_read_),
        writer_(connection_, lock_file_,
                {.path = options.path,
                 .durability = options.open.durability,
                 .wait = options.open.write_wait,
                 .format = last_format(options.steps)}) {}

  // Closing, SQLite would write back what the WAL's index names. After a failed sync that may
  // be gone; it is left to the next to open the store.
  ~SqliteStore() override {
    if (is_ready_) writer_.finish();
    if (!lock_file_.failures().are_open() && writer_.gate().check()) return;
    sqlite3_db_config(connection_.handle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  }
  SqliteStore(const SqliteStore&) = delete;
  SqliteStore& operator=(const SqliteStore&) = delete;

  Result<void> prepare() {
    auto opened = make_ready(options_, {.lock_file = lock_file_,
                                        .connection = connection_,
                                        .writer = writer_,
                                        .readers = readers_});
    if (!opened) return forward(opened);
    opened_ = *std::move(opened);
    // What a damaged file cannot note must be found again.
    is_ready_ = !opened_.is_damaged;
    return {};
  }

  Result<Receipt> commit(const Lease& lease, const Batch& batch) override {
    if (auto checked = rules::check(batch); !checked) return forward(checked);
    const rules::Sealed sealed = rules::seal(batch, options_.open.clock->now());
    auto committed =
        writer_.write([&](Connection& db) { return apply_batch(db, lease, batch, sealed); },
                      rules::sync_of(batch));
    if (!committed) return forward(committed);
    if (!committed->repeated) ++commits_;
    return std::move(committed->receipt);
  }

  Result<Created> create(const NewSession& session, const WorkerId& worker,
                         const Batch& first) override {
    if (auto checked = rules::check(session); !checked) return forward(checked);
    if (auto checked = rules::check(first); !checked) return forward(checked);
    const Lease lease{.session = session.id, .worker = worker, .fence = first_fence};
    const rules::Sealed sealed = rules::seal(first, options_.open.clock->now());
    auto committed = writer_.write(
        [&](Connection& db) {
          return apply_first(db, workers_, session, lease, {.batch = first, .sealed = sealed});
        },
        rules::sync_of(first));
    if (!committed) return forward(committed);
    if (!committed->repeated) ++commits_;
    return Created{lease, std::move(committed->receipt)};
  }

 private:
  StoreInfo info() const override {
    return {.backend = "sqlite",
            .location = options_.location,
            .engine = fmt::format("SQLite {}", sqlite3_libversion()),
            .format = last_format(options_.steps),
            .incarnation = opened_.incarnation,
            .durability = options_.open.durability,
            .commits = commits_,
            .transactions = writer_.transactions(),
            .rows_read = rows_read_};
  }

  Result<CheckReport> check(const Progress& progress) override {
    if (auto here = process_.check(); !here) return forward(here);
    return rules::followed(progress, [&](const Progress& told) {
      return check_store(access_, opened_.lost_at, told);
    });
  }

  Result<void> backup(const std::string& path, const Progress& progress) override {
    if (auto here = process_.check(); !here) return here;
    return rules::followed(progress,
                           [&](const Progress& told) { return write_backup(access_, path, told); });
  }

  Result<std::vector<Remark>> doctor() override {
    return readers_.read([&](Connection& db) -> Result<std::vector<Remark>> {
      return std::vector{look_at_syncs(options_.open.durability),
                         look_at_sums(db.reserved_bytes() == sum_bytes),
                         look_at_rights(options_.path), look_at_room(options_.path)};
    });
  }

  Result<std::uint64_t> wait_for_change(std::uint64_t since, Duration timeout) override {
    return watcher_.wait(since, timeout);
  }

  Result<void> sync() override {
    return writer_.write([](Connection& db) -> Result<void> {
      write_frame(db);
      return {};
    });
  }

  // What the page cache of a running kernel has, no death of a process loses. That frames are gone
  // all the same (the disk was taken away, a file was cut) is noticed at opening, and begins another
  // incarnation; only after a failed sync it is not.
  Result<std::string> loss_token() override {
    if (auto here = process_.check(); !here) return forward(here);
    if (workers_.boot().empty() || opened_.incarnation.empty()) return std::string();
    return fmt::format("{} {} {}", opened_.incarnation, workers_.boot(), writer_.gate().failures());
  }

  const OwnProcess process_;
  const SqliteOptions options_;
  Opened opened_;
  bool is_ready_ = false;
  std::atomic<std::uint64_t> rows_read_ = 0;
  std::atomic<std::uint64_t> commits_ = 0;
  LockFile lock_file_;
  Connection connection_;
  Writer writer_;
  Readers readers_{options_.path, options_.vfs, &rows_read_};
  Workers workers_{lock_file_, *options_.open.clock,
                   options_.boot.empty() ? boot_id() : options_.boot};
  Watcher watcher_{readers_};
};

// Its lock file has the rights of a store that is there, as SQLite's files beside it have.
mode_t rights_of(const std::string& path) {
  struct stat status{};
  const bool is_there = ::stat(path.c_str(), &status) == 0;
  return is_there ? (status.st_mode & 0666U) | private_rights : private_rights;
}

// SQLite would give it the rights that the umask leaves. Made without being opened: to close a
// descriptor of a file drops the locks of all others that this process has of it.
void make_private(const std::string& path) {
  [[maybe_unused]] const int failure = ::mknod(path.c_str(), S_IFREG | private_rights, 0);
}

}  // namespace

// One file, one lock file: whatever link or working folder the path goes through.
Result<std::unique_ptr<Store>> open_sqlite(const SqliteOptions& asked) {
  SqliteOptions options = asked;
  std::error_code unresolved;
  const auto path = std::filesystem::weakly_canonical(asked.path, unresolved);
  if (!unresolved) options.path = std::filesystem::absolute(path, unresolved).string();
  try {
    if (auto looked = look_at_files(options); !looked) return forward(looked);
    auto lock_file = LockFile::open(options.path + "-lock", rights_of(options.path));
    if (!lock_file) return forward(lock_file);
    make_private(options.path);
    auto store = std::make_unique<SqliteStore>(options, *std::move(lock_file));
    if (auto prepared = store->prepare(); !prepared) return forward(prepared);
    return store;
  } catch (const SqliteError& error) {
    return std::unexpected(error.to_error());
  }
}

}  // namespace perdure::sqlite
