// perdure_demo: kills a writing process again and again, and shows that nothing is lost; then an
// agent in the middle of a payment and of an email, and shows that nothing is done twice.
//
// The same program is killer, judge and, started by itself with --writer or --agent, the victim.

#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <optional>
#include <random>
#include <span>
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): mkdtemp is POSIX, not C++.
#include <string>
#include <string_view>

#include "invoice/agent.hpp"
#include "invoice/episode.hpp"
#include "invoice/show.hpp"
#include "report.hpp"
#include "writer.hpp"

namespace demo {
namespace {

constexpr std::string_view usage =
    "usage: perdure_demo [--kills N] [--seed N] [--keep PATH] [--json]\n"
    "\n"
    "Kills a process that writes to a Perdure store, at random moments, and checks that\n"
    "everything it was told is safe is there, once and in order. Then kills an agent right\n"
    "after it has paid, and right after it has sent an email, and checks that it does neither\n"
    "twice. Exit code 1 if anything is not as promised.\n"
    "\n"
    "  --kills N     how often (25)\n"
    "  --seed N      repeat the random choices of another run\n"
    "  --keep PATH   make the store there and keep it; without it the store is removed\n"
    "  --json        one JSON object instead of text\n";

struct Options {
  int kills = 25;
  std::uint64_t seed = std::random_device{}() % 1'000'000;
  std::string keep;
  bool json = false;
  bool help = false;
};

std::optional<std::uint64_t> number(std::string_view text, std::uint64_t max) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.begin(), text.end(), value);
  if (error != std::errc{} || end != text.end() || value > max) return std::nullopt;
  return value;
}

// False if an option is unknown or lacks its value.
bool read_value(Options& options, std::string_view name, std::string_view value) {
  if (name == "--keep") {
    options.keep = value;
    return !value.empty();
  }
  const bool is_kills = name == "--kills";
  if (!is_kills && name != "--seed") return false;
  const auto parsed = number(value, is_kills ? 100'000 : std::uint64_t{1} << 53U);
  if (!parsed) return false;
  if (is_kills) options.kills = static_cast<int>(*parsed);
  if (!is_kills) options.seed = *parsed;
  return true;
}

std::optional<Options> read_options(std::span<char*> words) {
  Options options;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (word == "--json") {
      options.json = true;
    } else if (word == "--help" || word == "-h") {
      options.help = true;
    } else if (i + 1 < words.size() && read_value(options, word, words[i + 1])) {
      ++i;
    } else {
      fmt::print(stderr, "perdure_demo: cannot use \"{}\"\n\n{}", word, usage);
      return std::nullopt;
    }
  }
  return options;
}

// A folder for the store, removed at the end.
class Folder {
 public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "perdure-demo-XXXXXX").string();
    if (mkdtemp(pattern.data()) != nullptr) path_ = pattern;
  }
  ~Folder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

invoice::Episode run_second_part(const std::string& store_path, const std::string& world,
                                 const Options& options) {
  if (options.json) {
    const invoice::Audience nobody{.hears = [](int, const std::string&, const std::string&) {},
                                   .sees = [](const invoice::Question&) {}};
    return invoice::run_episode(store_path, world, nobody);
  }
  invoice::print_opening();
  invoice::Episode episode = invoice::run_episode(store_path, world, invoice::printing_audience());
  invoice::print(episode);
  return episode;
}

int run(const std::string& program, const Options& options) {
  const Folder folder;
  const bool is_kept = !options.keep.empty();
  const Plan plan{.store_path = is_kept ? options.keep : (folder.path() / "demo.db").string(),
                  .kills = options.kills,
                  .seed = options.seed};
  if (std::filesystem::exists(plan.store_path)) {
    fmt::print(stderr, "perdure_demo: {} exists already; give --keep another path\n",
               plan.store_path);
    return 2;
  }
  if (!options.json) print_opening(plan);
  Record record = run_trial(plan, [&](const Record& so_far) {
    if (!options.json) print_progress(plan, so_far);
  });
  const auto verdict = judge(plan.store_path, record);
  if (!verdict) {
    record.troubles.push_back(
        fmt::format("{}: {}", to_string(verdict.error().code), verdict.error().message));
  }
  const Report report{.program = program,
                      .plan = plan,
                      .is_kept = is_kept,
                      .record = std::move(record),
                      .verdict = verdict.value_or(Verdict{})};
  if (!options.json) print(report);
  const invoice::Episode episode =
      run_second_part(plan.store_path, folder.path().string(), options);
  if (options.json) print_json(report, episode);
  const bool is_good = report.is_good() && episode.is_good();
  if (is_good && !options.json) print_next(report);
  return is_good ? 0 : 1;
}

}  // namespace
}  // namespace demo

int main(int count, char** words) {
  const auto arguments = std::span(words, static_cast<std::size_t>(count)).subspan(1);
  if (arguments.size() == 2 && std::string_view(arguments[0]) == "--writer")
    return demo::write_turns(arguments[1]);
  if (arguments.size() == 3 && std::string_view(arguments[0]) == "--agent")
    return invoice::run_agent(arguments[1], arguments[2]);
  const auto options = demo::read_options(arguments);
  if (!options) return 2;
  if (options->help) {
    fmt::print("{}", demo::usage);
    return 0;
  }
  return demo::run(words[0], *options);
}
