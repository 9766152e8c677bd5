// A session of agent_talker, one process after the other, and the server that is its model.

#pragma once

#include <memory>
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): setenv is POSIX, not C++.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "contract/backends.hpp"
#include "crash/child_process.hpp"
#include "doubles/must.hpp"
#include "doubles/temp_folder.hpp"
#include "models/model_server.hpp"
#include "perdure/core/id.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/store.hpp"
#include "runtime/writer/session_writer.hpp"

namespace perdure::agents {

class Talks {
 public:
  Talks(const Backend& backend, std::string format) : home_(backend), format_(std::move(format)) {}

  /// What processes that are started from now on find in their environment.
  static void plant(const std::string& key, const std::string& secret) {
    setenv("TALKER_KEY", key.c_str(), 1);        // NOLINT(concurrency-mt-unsafe): no other thread.
    setenv("TALKER_SECRET", secret.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  }

  /// What processes that are started from now on speak.
  void change_format(std::string format) { format_ = std::move(format); }

  /// A process whose model behaves as told (model_server.hpp).
  [[nodiscard]] std::unique_ptr<ChildProcess> start(const std::string& behaviour,
                                                    std::vector<std::string> words = {}) {
    words.push_back("location=" + home_.location());
    words.push_back("folder=" + folder_.path().string());
    words.push_back("format=" + format_);
    words.push_back("url=" + server_.url(behaviour));
    return std::make_unique<ChildProcess>("agent_talker", std::move(words));
  }
  /// All that it says, until it ends.
  [[nodiscard]] std::vector<std::string> all_of(const std::string& behaviour,
                                                std::vector<std::string> words = {}) {
    return start(behaviour, std::move(words))->read_to_end();
  }
  /// Returns once it has said something that begins so; false: it ended before.
  [[nodiscard]] static bool hear(ChildProcess& talker, std::string_view beginning) {
    while (const auto line = talker.read_line()) {
      if (line->starts_with(beginning)) return true;
    }
    return false;
  }

  [[nodiscard]] State state() const {
    const auto store = must(open_store(home_.location()));
    return must(read_state(*store, SessionId::parse("the-session").value(), Point::head()));
  }
  [[nodiscard]] const models::ModelServer& server() const { return server_; }
  [[nodiscard]] const StorePlace& home() const { return home_; }
  [[nodiscard]] const TempFolder& folder() const { return folder_; }

 private:
  const StorePlace home_;
  std::string format_;
  const TempFolder folder_;
  models::ModelServer server_;
};

}  // namespace perdure::agents
