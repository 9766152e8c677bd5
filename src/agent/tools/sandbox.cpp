// The order of bubblewrap's arguments is the order of its mounts: first all of the machine,
// read-only, then what is replaced, then the roots (which may lie in what was replaced), then what
// is hidden or only read.
//
// A mount hides a file by its place, and a command that may write a folder may move the file's
// folder away: the next command would find it elsewhere. So every folder between a writable root and
// such a file is a mount of its own, and mounts cannot be moved, removed or replaced.

#include "tools/sandbox.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "perdure/agent/file_root.hpp"
#include "perdure/agent/shell_tool.hpp"

namespace perdure {
namespace {

namespace fs = std::filesystem;

bool is_beneath(const fs::path& path, const fs::path& folder) {
  const auto end = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return end.first == folder.end() && end.second != path.end();
}

// Links are followed: a mount is on what is there.
std::vector<fs::path> real_paths(const std::vector<std::string>& paths) {
  std::vector<fs::path> real;
  for (const std::string& path : paths) {
    std::error_code error;
    fs::path found = fs::canonical(path, error);
    if (!error) real.push_back(std::move(found));
  }
  std::ranges::sort(real);
  real.erase(std::ranges::unique(real).begin(), real.end());
  return real;
}

class Mounts {
 public:
  explicit Mounts(const ShellSpec& spec)
      : spec_(spec), hidden_(real_paths(spec.hidden)), read_only_(real_paths(spec.read_only)) {}

  [[nodiscard]] std::vector<std::string> all() && {
    for (const FileRoot& root : spec_.roots) add_root(root);
    for (const fs::path& path : read_only_) {
      if (!is_hidden(path) && is_writable(path)) add({"--ro-bind", path.string(), path.string()});
    }
    for (const fs::path& path : hidden_) hide(path);
    return std::move(mounts_);
  }

 private:
  void add(std::vector<std::string> words) {
    mounts_.insert(mounts_.end(), words.begin(), words.end());
  }

  void add_root(const FileRoot& root) {
    add({root.is_writable ? "--bind" : "--ro-bind", root.path, root.path});
    if (!root.is_writable) return;
    std::set<fs::path> between;  // Sorted: a folder comes before what is in it.
    for (const auto* paths : {&hidden_, &read_only_}) {
      for (const fs::path& path : *paths) {
        for (fs::path at = path.parent_path(); is_beneath(at, root.path); at = at.parent_path()) {
          between.insert(at);
        }
      }
    }
    for (const fs::path& folder : between) add({"--bind", folder.string(), folder.string()});
  }

  void hide(const fs::path& path) {
    const bool is_hidden_already = std::ranges::any_of(
        hidden_, [&](const fs::path& other) { return is_beneath(path, other); });
    if (is_hidden_already) return;
    std::error_code ignored;
    if (fs::is_directory(path, ignored)) {
      add({"--tmpfs", path.string(), "--remount-ro", path.string()});
    } else {
      add({"--ro-bind", "/dev/null", path.string()});
    }
  }

  [[nodiscard]] bool is_hidden(const fs::path& path) const {
    return std::ranges::any_of(
        hidden_, [&](const fs::path& other) { return path == other || is_beneath(path, other); });
  }
  [[nodiscard]] bool is_writable(const fs::path& path) const {
    return std::ranges::any_of(spec_.roots, [&](const FileRoot& root) {
      return root.is_writable && is_beneath(path, root.path);
    });
  }

  const ShellSpec& spec_;
  std::vector<fs::path> hidden_;
  std::vector<fs::path> read_only_;
  std::vector<std::string> mounts_;
};

}  // namespace

std::vector<std::string> sandboxed(const ShellSpec& spec, const std::string& bubblewrap,
                                   const std::vector<std::string>& command) {
  std::vector<std::string> argv = {bubblewrap,
                                   "--die-with-parent",
                                   "--new-session",
                                   "--unshare-pid",
                                   "--unshare-ipc",
                                   "--unshare-uts",
                                   "--unshare-cgroup-try",
                                   "--cap-drop",
                                   "ALL",
                                   "--ro-bind",
                                   "/",
                                   "/",
                                   "--proc",
                                   "/proc",
                                   "--dev",
                                   "/dev",
                                   "--tmpfs",
                                   "/tmp",
                                   "--tmpfs",
                                   "/run"};
  if (!spec.has_network) argv.emplace_back("--unshare-net");
  for (std::string& word : Mounts(spec).all()) argv.push_back(std::move(word));
  argv.insert(argv.end(), {"--chdir", spec.roots.front().path, "--"});
  argv.insert(argv.end(), command.begin(), command.end());
  return argv;
}

}  // namespace perdure
