// Our side of the benchmark, through the public interface alone. run.py calls it; each call is a
// fresh process and prints one line of JSON.
//
//   prepare FILE SESSIONS                     an empty store with sessions, for bare_rows
//   session FILE WORKLOAD TURNS               one session, a sync at every commit; also its first
//                                             hundred turns, after ten, and its last
//   cpu     FILE WORKLOAD TURNS               the same without syncs (Durability::process)
//   threads FILE WORKLOAD TURNS SESSIONS      as many sessions, a thread each
//   worker  FILE WORKLOAD TURNS SESSIONS N    the same as one of several processes: says
//                                             "ready", then waits for a line on stdin
//   flatten FILE FLAT                         session 0 as a flat file
//   upkeep  FILE WORKLOAD MEGABYTES           commits beside a backup and a prune
//   load FILE | flat FLAT                     session 0 brought back, timed

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "load.hpp"
#include "perdure/core/json.hpp"
#include "perdure/store/store.hpp"
#include "sessions.hpp"
#include "upkeep.hpp"
#include "workload.hpp"

namespace perdure::bench {
namespace {

using Arguments = std::vector<std::string>;

void print(const Json& line) { std::printf("%s\n", line.text().c_str()); }

constexpr std::size_t window_begin = 10;
constexpr std::size_t window_turns = 100;

/// The median of a window of a lone session's turns.
double median_from(const Measured& measured, std::size_t first) {
  const auto begin = measured.latency_us.begin() + static_cast<std::ptrdiff_t>(first);
  return percentile({begin, begin + window_turns}, 0.5);
}

Json describe(const Measured& measured, const StoreInfo& counters) {
  const auto turns = static_cast<double>(measured.latency_us.size());
  return Json::Object{{"turns", measured.latency_us.size()},
                      {"p50_us", percentile(measured.latency_us, 0.5)},
                      {"p99_us", percentile(measured.latency_us, 0.99)},
                      {"turns_per_s", turns / measured.wall_s},
                      {"cpu_us_per_turn", measured.cpu_s * 1e6 / turns},
                      {"bytes", measured.bytes},
                      {"transactions", counters.transactions},
                      {"errors", measured.errors},
                      {"first_error", measured.first_error}};
}

void prepare(const Arguments& arguments) {
  auto store = open_or_stop(arguments.at(0), Durability::full);
  print(Json::Object{{"sessions", start_sessions(*store, 0, std::stoul(arguments.at(1))).size()}});
}

struct Run {
  Durability durability = Durability::full;
  std::size_t sessions = 1;
  std::size_t first = 0;
  bool waits = false;
};

void commit_turns(const Arguments& arguments, const Run& run) {
  const auto workload = read_workload(arguments.at(1));
  auto store = open_or_stop(arguments.at(0), run.durability);
  const auto leases = start_sessions(*store, run.first, run.sessions);
  if (run.waits) {
    std::printf("ready\n");
    std::fflush(stdout);
    std::string go;
    std::getline(std::cin, go);
  }
  const StoreInfo before = store->info();
  const Measured measured = run_sessions(*store, leases, workload, std::stoul(arguments.at(2)));
  StoreInfo counters = store->info();
  counters.transactions -= before.transactions;
  Json line = describe(measured, counters);
  const std::size_t turns = measured.latency_us.size();
  if (run.sessions == 1 && turns >= window_begin + window_turns) {
    line.set("early_p50_us", median_from(measured, window_begin));
    line.set("late_p50_us", median_from(measured, turns - window_turns));
  }
  if (run.waits) {
    line.set("latency_us", Json::Array(measured.latency_us.begin(), measured.latency_us.end()));
  }
  print(line);
}

void print_loaded(const Loaded& loaded) {
  Json::Object elements;
  for (const auto& [name, values] : loaded.channels) elements.emplace_back(name, values.size());
  print(Json::Object{{"load_us", loaded.took_us},
                     {"entries", loaded.entries},
                     {"bytes", loaded.bytes},
                     {"channels", std::move(elements)}});
}

void print_upkeep(const UpkeepMeasured& measured) {
  const auto p99 = [](const std::vector<double>& took) { return percentile(took, 0.99); };
  print(Json::Object{{"quiet_p99_us", p99(measured.quiet_us)},
                     {"backup_p99_us", p99(measured.backup_us)},
                     {"prune_p99_us", p99(measured.prune_us)},
                     {"backup_commits", measured.backup_us.size()},
                     {"prune_commits", measured.prune_us.size()},
                     {"backup_s", measured.backup_s},
                     {"prune_s", measured.prune_s},
                     {"bytes_stored", measured.bytes_stored},
                     {"bytes_pruned", measured.bytes_pruned}});
}

bool dispatch(std::string_view command, const Arguments& arguments) {
  if (command == "prepare") {
    prepare(arguments);
  } else if (command == "session") {
    commit_turns(arguments, {});
  } else if (command == "cpu") {
    commit_turns(arguments, {.durability = Durability::process});
  } else if (command == "threads") {
    commit_turns(arguments, {.sessions = std::stoul(arguments.at(3))});
  } else if (command == "worker") {
    const std::size_t sessions = std::stoul(arguments.at(3));
    commit_turns(
        arguments,
        {.sessions = sessions, .first = sessions * std::stoul(arguments.at(4)), .waits = true});
  } else if (command == "upkeep") {
    print_upkeep(measure_upkeep(arguments.at(0), read_workload(arguments.at(1)),
                                std::stoul(arguments.at(2))));
  } else if (command == "flatten") {
    write_flat(arguments.at(0), arguments.at(1));
  } else if (command == "load") {
    print_loaded(load_store(arguments.at(0)));
  } else if (command == "flat") {
    print_loaded(load_flat(arguments.at(0)));
  } else {
    return false;
  }
  return true;
}

}  // namespace
}  // namespace perdure::bench

int main(int count, char** words) {
  const perdure::bench::Arguments arguments(words + std::min(count, 2), words + count);
  try {
    if (count > 1 && perdure::bench::dispatch(words[1], arguments)) return 0;
    std::fprintf(stderr, "see the head of store_bench.cpp\n");
  } catch (const std::exception& error) {  // an argument is missing or no number
    std::fprintf(stderr, "%s: see the head of store_bench.cpp\n", error.what());
  }
  return 2;
}
