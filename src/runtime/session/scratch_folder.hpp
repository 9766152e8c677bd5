// A session's notes as files of a folder: `<root>/<session id>/<key>.txt` (an id with other characters
// than a key's gives `%` and its SHA-256). They are written at the end of a turn, each replaced by a
// rename, and read at a resume. The log is the truth, and a file is compared with it by its digest:
//   - a content that the log recorded for the key, on any line of the session, is an old file, and is
//     replaced;
//   - any other content was edited by hand, and wins: it becomes an entry by "outside", and what it
//     replaces stays in the log;
//   - a missing file says nothing, and is written again. To empty a note, empty its file.
// So wherever a process dies, between a commit and a rename or between two renames, nothing is taken
// for an edit that was not one. After a store was restored from a backup, newer files count as edited
// by hand. What cannot be read as a note (a link, too many bytes, not UTF-8) is named and left alone.
// A session of the same id in another store has the same folder: give it another root.
//
// The root is the user's choice, and may lie behind links; it must be ours, and closed to others.
// Beneath it every name is looked up in the open folder, never by path, and no link is followed: what
// others put there, or do to the path meanwhile, does not lead us elsewhere.

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/api/descriptor.hpp"
#include "perdure/core/error.hpp"

namespace perdure {

class ScratchFolder {
 public:
  struct File {
    std::string text{};
    std::uint64_t inode = 0;
    std::int64_t changed_ns = 0;
  };

  /// Locked for as long as the object lives. Nothing: it is not there, and `makes` is false.
  /// Fails: `unavailable` if it cannot be had, belongs to another user, may be written by others,
  /// is a link, or is in use by another process.
  [[nodiscard]] static Result<std::unique_ptr<ScratchFolder>> open(const std::string& root,
                                                                   const std::string& session,
                                                                   bool makes);

  /// Of all that is there by a note's name, whatever it is. Fails: `unavailable`.
  [[nodiscard]] Result<std::vector<std::string>> keys() const;
  /// Fails: `unavailable` for what is not a plain file of UTF-8, or beyond
  /// scratch_value_bytes_max.
  [[nodiscard]] Result<File> read(const std::string& key) const;
  /// A reader sees the old text or the new one, and so does a reader after a power cut.
  /// `seen`: the file as it was read, null if it was not there.
  /// Fails: `unavailable`, also if the file is not as it was seen; then it is left alone.
  [[nodiscard]] Result<void> replace(const std::string& key, const File* seen,
                                     std::string_view text);
  /// Fails: as replace.
  [[nodiscard]] Result<void> remove(const std::string& key, const File& seen);

 private:
  ScratchFolder(std::string path, Descriptor folder)
      : path_(std::move(path)), folder_(std::move(folder)) {}
  [[nodiscard]] Result<void> check_unchanged(const std::string& name, const File* seen) const;
  [[nodiscard]] std::string place_of(const std::string& name) const { return path_ + '/' + name; }

  std::string path_;
  Descriptor folder_;
};

/// What a session's folder is called: its id, or, for one that is not a plain name, `%` and its
/// SHA-256.
[[nodiscard]] std::string scratch_folder_name(const std::string& session);

}  // namespace perdure
