// The store object that holds everything together. Members are in the order they
// depend on each other; the watcher's thread ends first.

#include "sqlite/sqlite_store.hpp"

#include <atomic>
#include <cstdint>
#include <expected>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <string>
#include <sys/stat.h>
#include <system_error>
#include <utility>
#include <vector>

#include "core/api/own_process.hpp"
#include "files/file_lock.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/ownership.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "perdure/store/upkeep.hpp"
#include "rules/chain.hpp"
#include "rules/checks.hpp"
#include "rules/followed.hpp"
#include "sqlite/check/check.hpp"
#include "sqlite/engine/acknowledged.hpp"
#include "sqlite/engine/commit.hpp"
#include "sqlite/engine/connection.hpp"
#include "sqlite/engine/lock_file.hpp"
#include "sqlite/engine/readers.hpp"
#include "sqlite/engine/roles.hpp"
#include "sqlite/engine/schema.hpp"
#include "sqlite/engine/watcher.hpp"
#include "sqlite/engine/workers.hpp"
#include "sqlite/opening/backup.hpp"
#include "sqlite/opening/doctor.hpp"
#include "sqlite/opening/opening.hpp"
#include "store/api/transfer.hpp"

namespace perdure::sqlite {
namespace {

class SqliteStore final : public SqliteRoles {
 public:
  SqliteStore(const SqliteOptions& options, LockFile lock_file)
      : SqliteRoles({writer_, readers_, workers_, *options.open.clock}),
        options_(options),
        lock_file_(std::move(lock_file)),
        connection_(options.path, options.vfs,
                    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, &rows_read_) {
  }

  // Closing, SQLite would write back what the WAL's index names. After a failed sync that may
  // be gone; it is left to whoever opens the store next.
  ~SqliteStore() override {
    if (is_ready_) writer_.finish();
    if (!lock_file_.failures().are_open() && gate_.check()) return;
    sqlite3_db_config(connection_.handle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  }
  SqliteStore(const SqliteStore&) = delete;
  SqliteStore& operator=(const SqliteStore&) = delete;

  Result<void> prepare() {
    Opening opening(options_, {.lock_file = lock_file_,
                               .connection = connection_,
                               .gate = gate_,
                               .readers = readers_,
                               .acknowledged = acknowledged_});
    auto incarnation = opening.run();
    if (!incarnation) return forward(incarnation);
    incarnation_ = *std::move(incarnation);
    lost_at_ = opening.lost_at();
    // What a damaged file cannot note must be found again.
    is_ready_ = !opening.is_damaged();
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
    return {
        .backend = "sqlite",
        .location = options_.location,
        .engine = fmt::format("SQLite {}", sqlite3_libversion()),
        .format = last_format(options_.steps),
        .incarnation = incarnation_,
        .durability = options_.open.durability,
        .counters = {
            .commits = commits_, .transactions = writer_.transactions(), .rows_read = rows_read_}};
  }

  Result<CheckReport> check(const Progress& progress) override {
    if (auto here = process_.check(); !here) return forward(here);
    return rules::followed(
        progress, [&](const Progress& told) { return check_store(access_, lost_at_, told); });
  }

  Result<void> backup(const std::string& path, const Progress& progress) override {
    if (auto here = process_.check(); !here) return here;
    return rules::followed(progress,
                           [&](const Progress& told) { return write_backup(access_, path, told); });
  }

  Result<std::vector<Remark>> doctor() override {
    if (auto here = process_.check(); !here) return forward(here);
    return examine(access_, info());
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
    if (workers_.boot().empty() || incarnation_.empty()) return std::string();
    return fmt::format("{} {} {}", incarnation_, workers_.boot(), gate_.failures());
  }

  const OwnProcess process_;
  const SqliteOptions options_;
  std::string incarnation_;
  std::optional<Timestamp> lost_at_;
  bool is_ready_ = false;
  std::atomic<std::uint64_t> rows_read_ = 0;
  std::atomic<std::uint64_t> commits_ = 0;
  LockFile lock_file_;
  Connection connection_;
  Gate gate_{options_.path, lock_file_};
  Acknowledged acknowledged_{connection_, lock_file_};
  Writer writer_{{.connection = connection_,
                  .lock_file = lock_file_,
                  .gate = gate_,
                  .acknowledged = acknowledged_},
                 {.durability = options_.open.durability,
                  .wait = options_.open.write_wait,
                  .format = last_format(options_.steps)}};
  Readers readers_{options_.path, options_.vfs, &rows_read_};
  Workers workers_{lock_file_, *options_.open.clock, options_.boot};
  Watcher watcher_{readers_, lock_file_};
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
  if (auto nothing = look_for_remains(options); !nothing) return forward(nothing);
  if (auto there = check_place(options); !there) return forward(there);
  try {
    if (auto ours = look_at_header(options); !ours) return forward(ours);
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
