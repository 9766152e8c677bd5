// The measured loop. Building the batch counts: checking that a body is JSON and minting the
// batch's id are the library's work, and a caller pays for them at every turn.

#include "sessions.hpp"

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <ratio>
#include <string>
#include <sys/resource.h>
#include <thread>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "workload.hpp"

namespace perdure::bench {
namespace {

using SteadyClock = std::chrono::steady_clock;

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

Measured run_session(Store& store, const Lease& lease, const std::vector<Turn>& workload,
                     std::size_t turns) {
  Measured measured;
  measured.latency_us.reserve(turns);
  Position head = 0;
  for (std::size_t i = 0; i < turns; ++i) {
    const Turn& turn = workload[i % workload.size()];
    const auto start = SteadyClock::now();
    auto receipt = store.commit(lease, make_batch(turn, head));
    const std::chrono::duration<double, std::micro> took = SteadyClock::now() - start;
    if (!receipt) {
      measured.errors = 1;
      measured.first_error = receipt.error().message;
      break;
    }
    head = receipt->head;
    measured.latency_us.push_back(took.count());
    measured.bytes += turn.bytes();
  }
  return measured;
}

void add(Measured& sum, const Measured& part) {
  sum.latency_us.insert(sum.latency_us.end(), part.latency_us.begin(), part.latency_us.end());
  sum.bytes += part.bytes;
  sum.errors += part.errors;
  if (sum.first_error.empty()) sum.first_error = part.first_error;
}

}  // namespace

void stop(const char* what, const Error& error) {
  std::fprintf(stderr, "%s: %s: %s\n", what, std::string(to_string(error.code)).c_str(),
               error.message.c_str());
  std::exit(1);
}

SessionId session_id(std::size_t number) {
  const std::string digits = std::to_string(number);
  return value_or_stop("session id",
                       SessionId::parse("ses_" + std::string(26 - digits.size(), '0') + digits));
}

std::unique_ptr<Store> open_or_stop(const std::string& path, Durability durability) {
  OpenOptions options;
  options.durability = durability;
  return value_or_stop("open", open_store(path, options));
}

std::vector<Lease> start_sessions(Store& store, std::size_t first, std::size_t count) {
  const auto worker = mint<WorkerTag>(random_ids());
  value_or_stop(
      "enroll",
      store.ownership().enroll(
          {.id = worker, .host = "bench", .pid = 1, .lease_time = std::chrono::minutes(10)}));
  std::vector<Lease> leases;
  for (std::size_t i = 0; i < count; ++i) {
    NewSession session;
    session.id = session_id(first + i);
    value_or_stop("create", store.sessions().create(session));
    leases.push_back(value_or_stop("acquire", store.ownership().acquire(session.id, worker)));
  }
  return leases;
}

Measured run_sessions(Store& store, const std::vector<Lease>& leases,
                      const std::vector<Turn>& workload, std::size_t turns) {
  std::vector<Measured> parts(leases.size());
  const double cpu_before = cpu_seconds();
  SteadyClock::time_point start;
  // The clock starts when the last session is there, on whichever thread that is.
  std::barrier ready(static_cast<std::ptrdiff_t>(leases.size()),
                     [&start]() noexcept { start = SteadyClock::now(); });
  const auto run = [&](std::size_t i) {
    ready.arrive_and_wait();
    parts[i] = run_session(store, leases[i], workload, turns);
  };
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 1; i < leases.size(); ++i) threads.emplace_back(run, i);
    run(0);
  }
  Measured sum;
  sum.wall_s = std::chrono::duration<double>(SteadyClock::now() - start).count();
  sum.cpu_s = cpu_seconds() - cpu_before;
  for (const Measured& part : parts) add(sum, part);
  return sum;
}

double percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(
      std::lround(share * static_cast<double>(values.size() - 1)))];
}

}  // namespace perdure::bench
