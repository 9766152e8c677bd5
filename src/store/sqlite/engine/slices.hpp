// Long work as many short transactions, so that the writes of others go on between.

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
 public:
  /// `writer` must outlive this.
  explicit Slices(Writer& writer, Progress progress = {})
      : writer_(writer), progress_(std::move(progress)) {}

  /// How far the work has come; for the work to keep up to date.
  Step step;

  /// Repeats `work(Connection&) -> Result<bool>`, each time in a transaction of its own,
  /// while it says that there is more to do, and until it is told to stop.
  /// Fails: as `work`; as rules::goes_on.
  template <class Work>
  [[nodiscard]] Result<void> run(Work work) {
    bool more = true;
    while (more && !stopped_) {
      auto done =
          writer_.write([&](Connection& db) -> Result<bool> { return work(db); }, Sync::later);
      if (!done) return forward(done);
      more = *done;
      auto told = rules::goes_on(progress_, step);
      if (!told) return forward(told);
      stopped_ = !*told;
    }
    return {};
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

 private:
  Writer& writer_;
  const Progress progress_;
  bool stopped_ = false;
};

}  // namespace perdure::sqlite
