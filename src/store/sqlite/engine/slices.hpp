// Long work as many short transactions, so that others can write in between.

#pragma once

#include <utility>

#include "perdure/core/error.hpp"
#include "perdure/store/upkeep.hpp"
#include "rules/followed.hpp"
#include "sqlite/engine/commit.hpp"
#include "sqlite/engine/connection.hpp"
#include "sqlite/engine/writer.hpp"

namespace perdure::sqlite {

/// What one slice may touch. Together they stay well below 50 ms; a single body or
/// blob that is larger goes in a slice of its own.
inline constexpr int slice_rows = 256;
inline constexpr std::uint64_t slice_bytes = std::uint64_t{4} << 20U;
/// Each may have to be moved, and then another that points to it be written too.
inline constexpr std::uint64_t slice_pages = 64;

class Slices {
  rules::Slices slices_;
  Writer& writer_;

 public:
  /// `writer` must outlive this.
  explicit Slices(Writer& writer, Progress progress = {})
      : slices_(std::move(progress)), writer_(writer) {}

  /// As rules::Slices has it.
  Step& step = slices_.step;

  /// For `work(Connection&) -> Result<bool>`, each time in a transaction of its own.
  template <class Work>
  [[nodiscard]] Result<void> run(Work work) {
    return slices_.run([&] {
      return writer_.write([&](Connection& db) -> Result<bool> { return work(db); }, Sync::later);
    });
  }

  /// The same for `work(Connection&) -> bool`, each slice a step, of which one was announced.
  template <class Work>
  [[nodiscard]] Result<void> run_counted(Work work) {
    return run([&](Connection& db) -> Result<bool> {
      const bool more = work(db);
      ++step.done;
      if (more) ++step.total;
      return more;
    });
  }

  /// Puts all slices on disk.
  [[nodiscard]] Result<void> finish() {
    return writer_.write([](Connection& db) -> Result<void> {
      write_frame(db);
      return {};
    });
  }
  template <class Value>
  [[nodiscard]] Result<Value> finish(Value done) {
    if (auto finished = finish(); !finished) return forward(finished);
    return done;
  }
};

}  // namespace perdure::sqlite
