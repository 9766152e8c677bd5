// A store with something of everything that verbs show, always the same: ids, times, words. And a
// io to run verbs in, whose terminal is a flag.

#pragma once

#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "context/settings.hpp"
#include "contract/backends.hpp"
#include "doubles/counting_ids.hpp"
#include "doubles/fake_clock.hpp"
#include "doubles/must.hpp"
#include "doubles/temp_folder.hpp"
#include "perdure/core/id.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/store/store.hpp"
#include "program/cli.hpp"

namespace perdure::cli {

/// What a run of the program said.
struct Said {
  std::string out{};
  std::string err{};
  int exit = 0;
};

class CliFixture {
 public:
  explicit CliFixture(const Backend& backend = {"sqlite", Home::file});
  ~CliFixture();
  CliFixture(const CliFixture&) = delete;
  CliFixture& operator=(const CliFixture&) = delete;

  /// Makes the sessions that golden files show.
  void fill();

  /// A session with a call in doubt and one that waits for its turn behind it.
  void make_pair(const std::string& id);

  /// In a pipe, or on a terminal of so many columns.
  Said run(const std::vector<std::string>& words, std::optional<int> columns = {});

  [[nodiscard]] std::string location() const { return home_.location(); }
  [[nodiscard]] Store& store() { return *store_; }
  [[nodiscard]] Runtime& runtime() { return *runtime_; }
  /// ses_9pq400, which this process owns.
  [[nodiscard]] Session& running() { return *running_; }

  /// Takes a session without an owner, for this process.
  [[nodiscard]] Session hold(const SessionId& session) { return must(runtime_->open(session)); }

  FakeClock clock;
  CountingIds ids;
  std::map<std::string, std::string> environment;
  std::optional<std::string> typed;  ///< What a person answers.
  TempFolder folder = TempFolder::in_memory();

 private:
  Session begin(const std::string& id, const std::string& title);
  void converse(Session& session, const std::string& input, const std::string& answer);
  void make_refund();
  void make_doubtful();
  void make_waiting();
  void make_others();
  void pass(int seconds) { clock.advance(std::chrono::seconds(seconds)); }

  StorePlace home_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Runtime> runtime_;
  std::optional<Session> running_;
};

}  // namespace perdure::cli
