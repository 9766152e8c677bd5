// The moving line is for a terminal only.

#include "report.hpp"

#include <algorithm>
#include <cstdio>
#include <fmt/format.h>

#include "paint.hpp"
#include "perdure/core/json.hpp"

namespace demo {
namespace {

std::string grouped(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t i = text.size(); i > 3; i -= 3) text.insert(i - 3, ",");
  return text;
}

std::string megabytes(std::uint64_t bytes) {
  return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
}

void row(const std::string& name, const std::string& value, const std::string& note = {}) {
  fmt::print("  {:<22}{:>10}  {}\n", name, value, dim(note));
}

void count_row(const std::string& name, std::uint64_t count) {
  fmt::print("  {:<22}{}\n", name, judged(fmt::format("{:>10}", count), count == 0));
}

struct Spread {
  double min = 0;
  double median = 0;
  double max = 0;
};

Spread spread(const std::vector<Milliseconds>& times) {
  std::vector<double> sorted;
  sorted.reserve(times.size());
  for (const auto time : times) sorted.push_back(time.count());
  std::ranges::sort(sorted);
  if (sorted.empty()) return {};
  return {.min = sorted.front(), .median = sorted[sorted.size() / 2], .max = sorted.back()};
}

}  // namespace

void print_opening(const Plan& plan) {
  fmt::print("{}\n\n", bold(fmt::format("Perdure: one writer, {} deaths", plan.kills)));
  fmt::print(
      "A process appends turns to a session in an embedded store. It is killed with SIGKILL at\n"
      "{} random moments and started again each time.  {}\n\n",
      plan.kills, dim(fmt::format("seed {}", plan.seed)));
  std::fflush(stdout);
}

void print_progress(const Plan& plan, const Record& record) {
  if (!is_terminal()) return;
  fmt::print("\r\033[K  killed {} of {}, {} turns acknowledged", record.kills, plan.kills,
             grouped(record.acknowledged.size()));
  if (record.kills >= plan.kills) fmt::print("\r\033[K");
  std::fflush(stdout);
}

void print(const Report& report) {
  const auto& [program, plan, is_kept, record, verdict] = report;
  const Spread times = spread(record.recoveries);
  row("acknowledged", grouped(record.acknowledged.size()), "turns the writer was told are safe");
  row("on disk", grouped(verdict.turns),
      fmt::format("turns: {} entries, {} of text in a file of {}", grouped(verdict.entries),
                  megabytes(verdict.bytes), megabytes(verdict.file_bytes)));
  count_row("missing", verdict.missing);
  count_row("doubled", verdict.doubled);
  count_row("reordered", verdict.reordered);
  count_row("changed", verdict.changed);
  fmt::print("\n");
  row("kills in a commit", std::to_string(record.present + record.absent),
      fmt::format("the turn was there, whole: {}; not there at all: {}", record.present,
                  record.absent));
  row("recovery, median", fmt::format("{:.1f} ms", times.median),
      fmt::format("process start to first new commit; min {:.1f}, max {:.1f}", times.min,
                  times.max));
  fmt::print("\n");
  for (const std::string& trouble : record.troubles) fmt::print("  {}\n", judged(trouble, false));
  if (report.is_good()) {
    fmt::print("{}\n", judged("Nothing is missing, doubled or reordered.", true));
    return;
  }
  fmt::print("{} Run it again with --seed {} --keep PATH, and please report it.\n",
             judged("The store broke its promise.", false), plan.seed);
}

void print_next(const Report& report) {
  const std::string path = report.is_kept ? report.plan.store_path : "demo.db";
  fmt::print("\nTry next\n");
  if (!report.is_kept) fmt::print("  {} --keep demo.db\n", report.program);
  fmt::print("  sqlite3 {} \"SELECT tool_name, args_json, status, result_text FROM tool_calls\"\n",
             path);
  fmt::print(
      "  sqlite3 {} \"SELECT version, created_at, budget_spent_usd FROM checkpoints LIMIT 5\"\n",
      path);
  fmt::print("  make test        {}\n",
             dim("every test: a death at each write, death during recovery, …"));
}

void print_json(const Report& report, const invoice::Episode& episode) {
  using perdure::Json;
  const auto& [program, plan, is_kept, record, verdict] = report;
  const Spread times = spread(record.recoveries);
  Json::Array troubles;
  for (const std::string& trouble : record.troubles) troubles.emplace_back(trouble);
  for (const std::string& trouble : episode.troubles) troubles.emplace_back(trouble);
  const Json json(Json::Object{{"good", report.is_good() && episode.is_good()},
                               {"seed", plan.seed},
                               {"kills", record.kills},
                               {"acknowledged", std::uint64_t{record.acknowledged.size()}},
                               {"on_disk", verdict.turns},
                               {"entries", verdict.entries},
                               {"bytes", verdict.bytes},
                               {"file_bytes", verdict.file_bytes},
                               {"missing", verdict.missing},
                               {"doubled", verdict.doubled},
                               {"reordered", verdict.reordered},
                               {"changed", verdict.changed},
                               {"in_commit_present", record.present},
                               {"in_commit_absent", record.absent},
                               {"recovery_ms_min", times.min},
                               {"recovery_ms_median", times.median},
                               {"recovery_ms_max", times.max},
                               {"session_deaths", episode.deaths},
                               {"verified", episode.verified},
                               {"in_doubt", std::uint64_t{episode.questions.size()}},
                               {"charges", episode.charges},
                               {"emails", episode.emails},
                               {"model_requests", episode.requests},
                               {"spent_micros", episode.spent_micros},
                               {"troubles", troubles}});
  fmt::print("{}\n", json.text());
}

}  // namespace demo
