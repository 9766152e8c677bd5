// Which backend a location means.
//
// What is before the first colon is a scheme if it looks like one (two or more
// letters, digits, `+`, `.`, `-`). A file whose path looks so too can be opened as
// `./name:…` or `sqlite:name:…`.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "core/api/guarded.hpp"
#include "core/api/own_process.hpp"
#include "memory/memory_store.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/store.hpp"
#include "postgres/client/address.hpp"
#include "postgres/postgres_store.hpp"
#include "rules/checks.hpp"
#include "sqlite/sqlite_store.hpp"
#include "store/api/location.hpp"

namespace perdure {

namespace {

bool is_scheme_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' ||
         c == '.' || c == '-';
}

/// What is before the colon, or nothing if that is part of a path.
std::string_view scheme_of(std::string_view location) {
  const std::size_t colon = location.find(':');
  if (colon == std::string_view::npos || colon < 2) return {};
  const std::string_view scheme = location.substr(0, colon);
  return std::ranges::all_of(scheme, is_scheme_character) ? scheme : std::string_view{};
}

// Before anything is made beside it: SQLite would say no more of a pipe than that its disk failed.
Result<void> check_kept_in_a_file(const std::string& path) {
  std::error_code ignored;
  const std::filesystem::file_status status = std::filesystem::status(path, ignored);
  if (!std::filesystem::exists(status) || std::filesystem::is_regular_file(status)) return {};
  return fail(
      ErrorCode::unavailable,
      fmt::format("cannot open {}: it is {}, and a store is a file", path,
                  std::filesystem::is_directory(status) ? "a folder" : "a pipe or a device"));
}

Result<std::unique_ptr<Store>> open_file(const std::string& location, std::string path,
                                         const OpenOptions& options) {
  if (path.empty()) return fail(ErrorCode::invalid_argument, "the location has no path");
  if (path.find('\0') != std::string::npos) {
    return fail(ErrorCode::invalid_argument, "the path has a zero byte in it");
  }
  // SQLite would take this name for a database in memory, one for each connection.
  if (path == ":memory:") {
    return fail(ErrorCode::invalid_argument, "a store in memory is opened as `memory:`");
  }
  if (auto kept = check_kept_in_a_file(path); !kept) return forward(kept);
  return sqlite::open_sqlite(
      {.location = location, .path = std::move(path), .open = options, .vfs = {}});
}

// A child of fork(2) must close nothing of its parent's: not a connection, not a lock, not a log.
class OwnStore final : public Store {
 public:
  OwnStore(std::unique_ptr<GuardedSources> sources, std::unique_ptr<Store> store)
      : Store(roles_of(*store)),
        sources_(of_own_process(std::move(sources))),
        store_(of_own_process(std::move(store))) {}

  Result<Receipt> commit(const Lease& lease, const Batch& batch) override {
    return store_->commit(lease, batch);
  }
  Result<Created> create(const NewSession& session, const WorkerId& worker,
                         const Batch& first) override {
    return store_->create(session, worker, first);
  }
  Result<std::uint64_t> wait_for_change(std::uint64_t since, Duration timeout) override {
    return store_->wait_for_change(since, timeout);
  }
  StoreInfo info() const override { return store_->info(); }
  Result<std::vector<Remark>> doctor() override { return store_->doctor(); }
  Result<void> sync() override { return store_->sync(); }
  Result<std::string> loss_token() override { return store_->loss_token(); }

 private:
  const OwnProcessPtr<GuardedSources> sources_;  ///< Before the store, which uses them to its end.
  const OwnProcessPtr<Store> store_;
};

std::unexpected<Error> refuse_scheme(const std::string& location) {
  return fail(ErrorCode::invalid_argument,
              fmt::format("this build cannot open \"{}\": it knows `memory:`, the path of a file, "
                          "`sqlite:` before a path, and `postgres://…`",
                          shown_location(location)));
}

// `mysql://…` is another server's; everything else was meant for the one that we know.
std::unexpected<Error> refuse_address(const std::string& location) {
  const bool is_ours = location.starts_with('p') || location.starts_with('P');
  if (location.contains("://") && !is_ours) return refuse_scheme(location);
  return fail(ErrorCode::invalid_argument,
              fmt::format("\"{}\" is no location: did you mean postgres://USER:PASSWORD@HOST/"
                          "DATABASE? Its scheme has small letters and two slashes",
                          shown_location(location)));
}

Result<std::unique_ptr<Store>> open_any(const std::string& location, const OpenOptions& options) {
  if (location == "memory:") return open_memory(options);
  if (postgres::is_postgres(location)) return postgres::open_postgres(location, options);
  const std::string_view scheme = scheme_of(location);
  if (is_address(location)) return refuse_address(location);
  if (scheme.empty()) return open_file(location, location, options);
  if (scheme == "sqlite") return open_file(location, location.substr(scheme.size() + 1), options);
  return refuse_scheme(location);
}

}  // namespace

Result<std::unique_ptr<Store>> open_store(const std::string& location, const OpenOptions& options) {
  if (auto known = rules::check(options.durability); !known) return forward(known);
  auto sources = std::make_unique<GuardedSources>(options.clock, options.ids);
  OpenOptions guarded = options;
  guarded.clock = &sources->clock;
  guarded.ids = &sources->ids;
  auto store = open_any(location, guarded);
  if (!store) return store;
  return std::make_unique<OwnStore>(std::move(sources), *std::move(store));
}

}  // namespace perdure
