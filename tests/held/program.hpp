// The program `perdure` as who holds a session, in the middle of a call, and as who asks for one.

#pragma once

#include <array>
#include <cstddef>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "doubles/places.hpp"
#include "doubles/temp_folder.hpp"

namespace perdure::held {

inline const std::string& program = perdure_program();

/// What asks for a session: words of the program, in a shell; SES stands for the session.
struct Asking {
  std::string words;
  int exit = 5;
  std::string_view says = "process PID";  ///< PID stands for who has it.
};

inline const std::vector<Asking>& askings() {
  static const std::vector<Asking> all = {
      {"perdure resume SES --agent agent.yaml --accept-changes"},
      {"perdure resume SES --agent agent.yaml --accept-changes 'And more.'"},
      {"perdure resume SES --agent agent.yaml --accept-changes --wait 1s"},
      {"script -qec 'perdure chat SES --agent agent.yaml --accept-changes' typescript"},
      {"perdure delete SES --yes", 5, "pid PID"},
      // It opens the session, if nobody has it; else it leaves the message.
      {"perdure pause SES", 0, "left in its inbox"},
  };
  return all;
}

struct Said {
  int exit = -1;
  std::string out{};
};

inline std::string replaced(std::string text, std::string_view name, const std::string& by) {
  for (auto at = text.find(name); at != std::string::npos; at = text.find(name, at + by.size())) {
    text.replace(at, name.size(), by);
  }
  return text;
}

/// A folder with an agent whose only tool says that it has begun, waits, and then pays.
class Programs {
 public:
  explicit Programs(std::string location) : location_(std::move(location)) {
    if (::mkfifo(file("go").c_str(), 0600) != 0) throw std::runtime_error("no pipe");
    // Open for both, no end waits for the other one.
    go_ = ::open(file("go").c_str(), O_RDWR | O_CLOEXEC);
    std::ofstream(file("script.json"))
        << R"({"responses": [{"calls": [{"name": "pay", "args": {}}]}, {"text": "Paid."}]})";
    std::ofstream(file("agent.yaml"))
        << R"({"name": "tested", "model": {"provider": "scripted", "script": "script.json"},)"
        << R"( "permissions": {"mutate": "allow"}, "tools": {"exec": {"pay": {)"
        << R"("description": "Pays.", "side_effects": ["mutate"], "command": ["/bin/sh", "-c",)"
        << R"( "echo begun; read word < ')" << file("go") << R"('; echo paid >> ')" << file("book")
        << R"('"]}}}})";
    const std::filesystem::path bin = folder_.path() / "perdure";
    std::filesystem::create_symlink(program, bin);
  }
  ~Programs() {
    if (running_ != nullptr) end();
    ::close(go_);
  }
  Programs(const Programs&) = delete;
  Programs& operator=(const Programs&) = delete;

  [[nodiscard]] Said run(const std::string& words) const {
    return read_to_end(start(words + " < /dev/null"));
  }

  /// A run whose tool has begun when this returns; false: it ended before.
  [[nodiscard]] bool run_to_call() {
    running_ = start("exec perdure run agent.yaml Pay --jsonl < /dev/null");
    std::array<char, 4096> line{};
    while (std::fgets(line.data(), line.size(), running_) != nullptr) {
      if (std::string_view(line.data()).contains("call_progress")) return true;
    }
    return false;
  }
  /// Lets the tool pay, and the run come to its end.
  Said end() {
    const bool is_told = ::write(go_, "go\n", 3) == 3;
    Said said = read_to_end(std::exchange(running_, nullptr));
    if (!is_told) said.exit = -1;
    return said;
  }
  /// Of how often it paid.
  [[nodiscard]] std::string book() const {
    std::ifstream stream(file("book"));
    return {std::istreambuf_iterator<char>(stream), {}};
  }

 private:
  [[nodiscard]] std::string file(const std::string& name) const { return folder_.file(name); }

  [[nodiscard]] std::FILE* start(const std::string& words) const {
    const std::string folder = folder_.path().string();
    return ::popen(("exec 2>&1; cd '" + folder + "'; export HOME=\"$PWD\" PATH=\"$PWD:$PATH\" " +
                    "LANG=C.UTF-8 PERDURE_STORE='" + location_ + "'; " + words)
                       .c_str(),
                   "re");
  }
  static Said read_to_end(std::FILE* pipe) {
    Said said;
    std::array<char, 4096> piece{};
    while (const std::size_t size = std::fread(piece.data(), 1, piece.size(), pipe)) {
      said.out.append(piece.data(), size);
    }
    const int status = ::pclose(pipe);
    if (WIFEXITED(status)) said.exit = WEXITSTATUS(status);
    return said;
  }

  const std::string location_;
  const TempFolder folder_;
  int go_ = -1;
  std::FILE* running_ = nullptr;
};

}  // namespace perdure::held
