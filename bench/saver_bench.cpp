// Our side of the whole-state puts. run.py calls it; each call is a fresh process and prints one
// line of JSON. whole_states.c is the comparator.
//
//   warm  FILE WORKLOAD TURNS    one saver puts the state of every turn; the last ten count, and a
//                                list of ten at turn 100 and at the end
//   fresh FILE WORKLOAD TURN     opens the file and puts the state of that turn, both timed

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "perdure/adapters/saver.hpp"
#include "perdure/core/json.hpp"
#include "sessions.hpp"
#include "workload.hpp"

namespace perdure::bench {
namespace {

constexpr std::size_t counted = 10;
constexpr std::size_t early_turn = 100;
constexpr int lists = 51;

/// The state of turn 1, 2 … as a loop without a log would hand it over: all messages so far.
/// What changes every turn stands first, so that no two states begin alike. whole_states.c
/// makes the same text.
class States {
 public:
  explicit States(const std::string& workload) : turns_(read_workload(workload)) {}

  void skip() {
    for (const std::string& message : turns_.at(number_++ % turns_.size()).messages) {
      messages_ += (messages_.empty() ? "" : ",") + message;
    }
  }

  std::string next() {
    skip();
    const Turn& turn = turns_.at((number_ - 1) % turns_.size());
    return "{\"turn\":" + std::to_string(number_) + ",\"plan\":" + turn.plan + ",\"messages\":[" +
           messages_ + "]}";
  }

 private:
  std::vector<Turn> turns_;
  std::size_t number_ = 0;
  std::string messages_;
};

double now_us() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::micro>(now).count();
}

/// What this process handed to write() so far.
std::uint64_t written() {
  std::ifstream file("/proc/self/io");
  for (std::string word; file >> word;) {
    std::uint64_t bytes = 0;
    if (word == "wchar:" && file >> bytes) return bytes;
  }
  return 0;
}

double median(const std::vector<double>& values) { return percentile(values, 0.5); }

RawJson state_of(std::string text) {
  return value_or_stop("state", RawJson::from_text(std::move(text)));
}

void put(CheckpointSaver& saver, RawJson state) {
  (void)value_or_stop("put", saver.put("thread", std::move(state)));
}

double time_lists(CheckpointSaver& saver) {
  std::vector<double> took;
  for (int i = 0; i < lists; ++i) {
    const double start = now_us();
    const auto listed = value_or_stop("list", saver.list("thread"));
    took.push_back(now_us() - start);
    if (listed.size() != counted) std::exit(1);
  }
  return median(took);
}

void run_warm(const std::string& file, const std::string& workload, std::size_t turns) {
  States states(workload);
  const auto saver = value_or_stop("open", open_saver(file));
  std::vector<double> took;
  std::vector<double> bytes;
  std::uint64_t state_bytes = 0;
  double early_list = 0;
  for (std::size_t turn = 1; turn <= turns; ++turn) {
    RawJson state = state_of(states.next());
    state_bytes += state.text().size();
    const std::uint64_t written_before = written();
    const double start = now_us();
    put(*saver, std::move(state));
    took.push_back(now_us() - start);
    bytes.push_back(static_cast<double>(written() - written_before));
    if (turn == early_turn) early_list = time_lists(*saver);
  }
  const auto last = [](const std::vector<double>& all) {
    return median({all.end() - static_cast<std::ptrdiff_t>(counted), all.end()});
  };
  const Json line = Json::Object{{"put_us", last(took)},        {"put_bytes", last(bytes)},
                                 {"early_list_us", early_list}, {"list_us", time_lists(*saver)},
                                 {"state_bytes", state_bytes},  {"errors", 0}};
  std::printf("%s\n", line.text().c_str());
}

void run_fresh(const std::string& file, const std::string& workload, std::size_t turn) {
  States states(workload);
  for (std::size_t i = 1; i < turn; ++i) states.skip();
  RawJson state = state_of(states.next());
  const double start = now_us();
  const auto saver = value_or_stop("open", open_saver(file));
  put(*saver, std::move(state));
  const Json line = Json::Object{{"put_us", now_us() - start}, {"errors", 0}};
  std::printf("%s\n", line.text().c_str());
}

}  // namespace
}  // namespace perdure::bench

int main(int count, char** words) {
  const std::vector<std::string> arguments(words + 1, words + count);
  if (arguments.size() != 4) return 2;
  const std::size_t turns = std::stoul(arguments[3]);
  if (arguments[0] == "warm") perdure::bench::run_warm(arguments[1], arguments[2], turns);
  if (arguments[0] == "fresh") perdure::bench::run_fresh(arguments[1], arguments[2], turns);
  return 0;
}
