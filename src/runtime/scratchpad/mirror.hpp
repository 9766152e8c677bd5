// Keeps a folder as the scratchpad's log says, and finds what others changed in it. The rule is
// in perdure/runtime/scratchpad.hpp.
//
// Nothing here fails: what cannot be done is a problem that the caller may read, and is tried
// again at the next occasion. The log does not depend on it.

#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/runtime/scratchpad.hpp"
#include "scratchpad/folder.hpp"
#include "scratchpad/mirror_state.hpp"

namespace perdure::scratch {

/// The log's side.
struct Truth {
  const Scratchpad& pad;
  std::function<Result<std::string>(const BlobRef&)> load{};
  /// Whether the key ever had that content.
  std::function<Result<bool>(const std::string& key, const Digest& content)> ever_had{};
};

/// A change from outside.
struct Edit {
  std::string key{};
  std::optional<std::string> text{};  ///< Empty: the file was removed.
  bool operator==(const Edit&) const = default;
};

/// What a file is, given what the mirror may have left there and what the log says.
enum class Verdict {
  same,
  stale,    ///< To be written, or removed.
  changed,  ///< From outside.
  removed,  ///< From outside.
};
/// `is_ours`: whether the mirror may have left a content there.
[[nodiscard]] Verdict judge(const Content& file, const Content& log,
                            const std::function<bool(const Content&)>& is_ours);

class Mirror {
 public:
  using OpenFolder = std::function<Result<std::unique_ptr<Folder>>()>;

  /// `store`, `session`: whose mirror it is. The folder is opened when it is needed.
  Mirror(std::string store, std::string session, OpenFolder open)
      : open_(std::move(open)), state_{.store = std::move(store), .session = std::move(session)} {}

  /// What others changed since the last look that was followed by a commit of what it found.
  [[nodiscard]] std::vector<Edit> look(const Truth& truth);

  /// The log has another value for the key.
  void touch(const std::string& key) { stale_.insert(key); }
  /// Any key may have another value.
  void touch_all() { is_surveyed_ = false; }

  /// Makes the folder what the log says, where it is not.
  void write(const Truth& truth);

  /// As of the last look and write.
  [[nodiscard]] std::vector<ScratchProblem> problems() const;

 private:
  // A file as it was seen; what is no such file is a problem, and in nobody's way.
  struct Seen {
    Content content{};
    std::string bytes{};  ///< Only if it was read.
  };
  struct Known {
    Stamp stamp{};
    Digest content{};
  };
  struct Change {
    std::string key{};
    Content content{};
  };

  [[nodiscard]] bool open();
  [[nodiscard]] bool read_state();
  void lose(const Error& error);
  [[nodiscard]] std::map<std::string, Listed> keys_in(const Listing& listing);
  [[nodiscard]] std::optional<Seen> see(const std::string& key);
  [[nodiscard]] std::optional<Seen> see(const std::string& key, const Listed& file,
                                        std::int64_t begun_ns);
  [[nodiscard]] std::optional<Verdict> judge_key(const std::string& key, const Content& seen,
                                                 const Truth& truth);
  void survey(const std::string& key, std::optional<Seen> seen, const Truth& truth,
              std::vector<Edit>& edits);
  void settle(const std::string& key, const Content& content);
  void allow(const std::string& key, const Content& content);
  [[nodiscard]] std::vector<Change> stale_files(const Truth& truth);
  [[nodiscard]] Result<void> put(const Change& change, const Truth& truth);
  [[nodiscard]] Result<void> save_state();
  void note(ScratchProblem::Why why, std::string name, std::string message);

  OpenFolder open_;
  std::unique_ptr<Folder> folder_;
  MirrorState state_;
  std::optional<MirrorState> saved_;  ///< What the folder's note says; empty: there was none.
  bool has_state_ = false;            ///< `state_` knows all that the mirror left there.
  bool is_surveyed_ = false;          ///< Every key was looked at since the folder was opened.
  std::set<std::string, std::less<>> stale_;
  std::map<std::string, Known, std::less<>> known_;
  std::vector<ScratchProblem> found_;
  std::vector<ScratchProblem> failed_;
};

}  // namespace perdure::scratch
