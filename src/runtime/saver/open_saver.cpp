// Which store a saver lies on.

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "perdure/core/error.hpp"
#include "perdure/core/guarded.hpp"
#include "perdure/runtime/saver.hpp"
#include "perdure/runtime/store_saver.hpp"
#include "perdure/store/store.hpp"

namespace perdure {
namespace {

Result<std::unique_ptr<Store>> open_for(const std::string& location, const SaverOptions& options) {
  return open_store(location, {.durability = options.durability,
                               .write_wait = options.wait,
                               .clock = options.clock,
                               .ids = options.ids});
}

}  // namespace

// Memory is always there to be opened.
InMemorySaver::InMemorySaver(const SaverOptions& options)
    : StoreSaver(open_for("memory:", options).value(), options) {}

Result<std::unique_ptr<SqliteSaver>> SqliteSaver::open(const std::string& path,
                                                       const SaverOptions& options) {
  auto store = open_for(path == ":memory:" ? "memory:" : "sqlite:" + path, options);
  if (!store) return forward(store);
  return std::make_unique<SqliteSaver>(*std::move(store), options);
}

std::shared_ptr<CheckpointSaver> saver_or_default(
    std::shared_ptr<CheckpointSaver> given, std::string_view thread_id,
    const std::function<void(std::string_view)>& notice) {
  if (given || thread_id.empty()) return given;
  const std::string line = "thread " + std::string(thread_id) +
                           " has no saver: it is kept in memory and is lost with this process";
  [[maybe_unused]] const auto told = guarded("`notice`", [&] { notice(line); });
  return std::make_shared<InMemorySaver>();
}

}  // namespace perdure
