// Notes are committed first; files follow.

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <dirent.h>
#include <expected>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <variant>
#include <vector>

#include "core/api/descriptor.hpp"
#include "core/api/text.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "runtime/api/records.hpp"
#include "runtime/api/session.hpp"
#include "session/parts.hpp"
#include "session/scratch_folder.hpp"
#include "store/api/lookup.hpp"
#include "writer/session_writer.hpp"

namespace perdure {
namespace {

constexpr std::string_view suffix = ".txt";

std::string name_of(const std::string& key) { return key + std::string(suffix); }

std::unexpected<Error> refuse(const std::string& place, std::string_view why) {
  return fail(ErrorCode::unavailable, fmt::format("{} {}", place, why), place);
}

std::unexpected<Error> cannot(std::string_view what, const std::string& place) {
  return fail(ErrorCode::unavailable,
              fmt::format("cannot {} {}: {}", what, place, std::generic_category().message(errno)),
              place);
}

std::int64_t changed_ns(const struct stat& status) {
  constexpr std::int64_t second = 1'000'000'000;
  return status.st_ctim.tv_sec * second + status.st_ctim.tv_nsec;
}

// Otherwise another user could put into it what the model is told.
Result<void> check_ours(const Descriptor& folder, const std::string& path) {
  struct stat status{};
  if (::fstat(folder.get(), &status) != 0) return cannot("look at", path);
  if (status.st_uid != ::geteuid()) return refuse(path, "belongs to another user");
  const bool is_our_group = status.st_gid == ::getegid();
  if ((status.st_mode & S_IWOTH) != 0 || ((status.st_mode & S_IWGRP) != 0 && !is_our_group)) {
    return refuse(path, "may be written by others");
  }
  return {};
}

Result<void> write_all(const Descriptor& file, const std::string& place, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(file.get(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return cannot("write", place);
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  if (::fdatasync(file.get()) != 0) return cannot("sync", place);
  return {};
}

// Its first `size` bytes: what is appended meanwhile is read the next time.
Result<std::string> read_all(const Descriptor& file, const std::string& place, std::size_t size) {
  if (size > scratch_value_bytes_max) {
    return refuse(place, fmt::format("is longer than a note: {} bytes", scratch_value_bytes_max));
  }
  std::string bytes(size, '\0');
  for (std::size_t got = 0; got < bytes.size();) {
    const ssize_t n = ::read(file.get(), bytes.data() + got, bytes.size() - got);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return cannot("read", place);
    if (n == 0) bytes.resize(got);
    got += static_cast<std::size_t>(n);
  }
  return bytes;
}

// Absent is not an error: then it is not open.
Result<Descriptor> open_root(const std::string& root, bool makes) {
  std::error_code error;
  const auto parent = std::filesystem::path(root).lexically_normal().parent_path();
  if (makes && !parent.empty()) std::filesystem::create_directories(parent, error);
  if (makes && !error && ::mkdir(root.c_str(), 0700) != 0 && errno != EEXIST) {
    return cannot("make", root);
  }
  Descriptor folder(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.is_open() && errno == ENOENT && !makes) return Descriptor();
  if (!folder.is_open()) return cannot("open", root);
  if (auto ours = check_ours(folder, root); !ours) return forward(ours);
  return folder;
}

}  // namespace

Result<std::unique_ptr<ScratchFolder>> ScratchFolder::open(const std::string& root,
                                                           const std::string& session, bool makes) {
  auto opened = open_root(root, makes);
  if (!opened) return forward(opened);
  if (!opened->is_open()) return nullptr;
  const Descriptor base = *std::move(opened);
  const std::string name = scratch_folder_name(session);
  const std::string path = root + '/' + name;
  if (makes && ::mkdirat(base.get(), name.c_str(), 0700) != 0 && errno != EEXIST) {
    return cannot("make", path);
  }
  Descriptor folder(
      ::openat(base.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder.is_open() && errno == ENOENT && !makes) return nullptr;
  if (!folder.is_open() && (errno == ELOOP || errno == ENOTDIR)) {
    return refuse(path, "is not a folder");
  }
  if (!folder.is_open()) return cannot("open", path);
  if (auto ours = check_ours(folder, path); !ours) return forward(ours);
  // The lock goes with the process, however it ends.
  if (::flock(folder.get(), LOCK_EX | LOCK_NB) != 0) {
    return refuse(path, "is in use by another process");
  }
  // NOLINTNEXTLINE(cppcoreguidelines-owning-memory): the constructor is private.
  return std::unique_ptr<ScratchFolder>(new ScratchFolder(path, std::move(folder)));
}

Result<std::vector<std::string>> ScratchFolder::keys() const {
  const int copy = ::openat(folder_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (copy < 0) return cannot("list", path_);
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::fdopendir(copy), ::closedir);
  if (!entries) return cannot("list", path_);
  std::vector<std::string> keys;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): only this function has this stream.
  while (const dirent* entry = ::readdir(entries.get())) {
    std::string_view name = static_cast<const char*>(entry->d_name);
    if (!name.ends_with(suffix)) continue;
    name.remove_suffix(suffix.size());
    if (check_scratch_key(name)) keys.emplace_back(name);
  }
  return keys;
}

Result<ScratchFolder::File> ScratchFolder::read(const std::string& key) const {
  const std::string name = name_of(key);
  const std::string place = place_of(name);
  // Not blocking: a pipe would keep us waiting for a writer.
  const Descriptor file(
      ::openat(folder_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.is_open() && errno == ELOOP) return refuse(place, "is not a plain file");
  if (!file.is_open()) return cannot("open", place);
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) return cannot("look at", place);
  if (!S_ISREG(status.st_mode)) return refuse(place, "is not a plain file");
  auto text = read_all(file, place, static_cast<std::size_t>(status.st_size));
  if (!text) return forward(text);
  if (!is_utf8(*text)) return refuse(place, "is not UTF-8 text");
  return File{.text = *std::move(text), .inode = status.st_ino, .changed_ns = changed_ns(status)};
}

Result<void> ScratchFolder::check_unchanged(const std::string& name, const File* seen) const {
  struct stat status{};
  const bool is_there = ::fstatat(folder_.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
  const bool is_same =
      is_there == (seen != nullptr) &&
      (!is_there || (status.st_ino == seen->inode && changed_ns(status) == seen->changed_ns &&
                     static_cast<std::size_t>(status.st_size) == seen->text.size()));
  return is_same ? Result<void>() : refuse(place_of(name), "was changed a moment ago");
}

Result<void> ScratchFolder::replace(const std::string& key, const File* seen,
                                    std::string_view text) {
  const std::string name = name_of(key);
  const std::string fresh = "." + name + ".new";
  // A process that died may have left one.
  if (::unlinkat(folder_.get(), fresh.c_str(), 0) != 0 && errno != ENOENT) {
    return cannot("remove", place_of(fresh));
  }
  const Descriptor file(
      ::openat(folder_.get(), fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file.is_open()) return cannot("make", place_of(fresh));
  if (auto written = write_all(file, place_of(fresh), text); !written) return written;
  if (auto same = check_unchanged(name, seen); !same) return same;
  if (::renameat(folder_.get(), fresh.c_str(), folder_.get(), name.c_str()) == 0) return {};
  return cannot("replace", place_of(name));
}

Result<void> ScratchFolder::remove(const std::string& key, const File& seen) {
  const std::string name = name_of(key);
  if (auto same = check_unchanged(name, &seen); !same) return same;
  if (::unlinkat(folder_.get(), name.c_str(), 0) == 0 || errno == ENOENT) return {};
  return cannot("remove", place_of(name));
}

std::string scratch_folder_name(const std::string& session) {
  return check_scratch_key(session) ? session : "%" + to_hex(sha256(session));
}

namespace {

Result<void> add_change(const SessionWriter& writer, Draft& draft, ScratchEntry entry,
                        const std::optional<std::string>& text) {
  std::optional<BlobRef> blob;
  if (text && text->size() > scratch_inline_bytes_max) {
    auto put = writer.deps().store.blobs().put(*text);
    if (!put) return forward(put);
    blob = *put;
  }
  if (blob) entry.value = *blob;
  if (text && !blob) entry.value = *text;
  draft.add(appending("scratchpad", std::string(kind_of(entry)), to_json(entry)));
  if (blob) {
    draft.add({.channel = "scratchpad", .kind = "blob", .body = Body::from_blob(*blob)});
  }
  return {};
}

Result<void> commit_change(SessionWriter& writer, const std::string& key,
                           const std::optional<std::string>& text) {
  return writer.write([&](Draft& draft) { return add_change(writer, draft, {.key = key}, text); });
}

Digest content_of(const ScratchValue& value) {
  if (const auto* const ref = std::get_if<BlobRef>(&value)) return ref->digest;
  return sha256(std::get<std::string>(value));
}

Result<std::string> text_of(const SessionWriter& writer, const ScratchValue& value) {
  if (const auto* const text = std::get_if<std::string>(&value)) return *text;
  return writer.deps().store.blobs().get(std::get<BlobRef>(value));
}

// Every content that the log recorded for a key.
using History = std::map<std::string, std::set<Digest>>;

void add_contents(History& history, const std::vector<Entry>& entries) {
  for (const Entry& entry : entries) {
    if (entry.kind != "set" || entry.condition != Condition::intact) continue;
    const auto change = scratch_entry_from_json(entry.kind, entry.body.bytes());
    if (change && change->value) history[change->key].insert(content_of(*change->value));
  }
}

// A rewind leaves a line behind, and files that were written from it: so all lines are read. The last
// position that was used is on the line that was left last, unless it is the head; the position before
// a segment is the end of the line that was left for it. A pruned one is passed over.
Result<History> read_history(const SessionWriter& writer) {
  Store& store = writer.deps().store;
  const SessionId& session = writer.lease().session;
  auto row = store.sessions().read(session);
  if (!row) return forward(row);
  History history;
  std::vector<Position> ends = {writer.head()};
  if (row->next - 1 > writer.head()) ends.push_back(row->next - 1);
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const Point end = at_position(ends[i]);
    auto entries = store.log().read(session, {.as_of = end, .channel = "scratchpad"});
    if (!entries && entries.error().code == ErrorCode::not_found) continue;
    if (!entries) return forward(entries);
    add_contents(history, *entries);
    auto line = store.lookup().line(session, end);
    if (!line) return forward(line);
    for (const Segment& segment : *line) {
      const Position left = segment.first - 1;
      const bool is_left = segment.session == session && segment.parent &&
                           left > segment.parent_position &&
                           std::ranges::find(ends, left) == ends.end();
      if (is_left) ends.push_back(left);
    }
  }
  return history;
}

/// What a look into the folder found.
struct Look {
  std::map<std::string, ScratchFolder::File> files{};
  std::set<std::string> left_alone{};  ///< By a note's name, and not to be read.
  std::string problem{};               ///< The first one.

  void fail_with(const Error& error) {
    if (problem.empty()) problem = error.message;
  }
};

Look look_into(const ScratchFolder& folder) {
  Look look;
  const auto keys = folder.keys();
  if (!keys) look.fail_with(keys.error());
  for (const std::string& key : keys.value_or(std::vector<std::string>())) {
    auto file = folder.read(key);
    if (file) {
      look.files.emplace(key, *std::move(file));
    } else {
      look.left_alone.insert(key);
      look.fail_with(file.error());
    }
  }
  return look;
}

bool is_same(const Scratchpad& pad, const std::string& key, const Digest& content) {
  const auto value = pad.values.find(key);
  return value != pad.values.end() && content_of(value->second) == content;
}

// A file whose content the log never recorded for its key was edited by hand.
Result<void> take_edits_in(SessionWriter& writer, const Look& look) {
  Draft draft = writer.draft();
  std::optional<History> history;
  for (const auto& [key, file] : look.files) {
    const Digest content = sha256(file.text);
    if (is_same(writer.state().scratchpad, key, content)) continue;
    if (!history) {
      auto read = read_history(writer);
      if (!read) return forward(read);
      history = *std::move(read);
    }
    const auto had = history->find(key);
    if (had != history->end() && had->second.contains(content)) continue;
    auto added = add_change(writer, draft, {.key = key, .by = "outside"}, file.text);
    if (!added) return added;
  }
  return writer.commit(std::move(draft));
}

// All that is in `look`, and differs from the log now, is an old note: edits were taken in.
void write_notes(const SessionWriter& writer, ScratchFolder& folder, Look& look) {
  const Scratchpad& pad = writer.state().scratchpad;
  for (const auto& [key, value] : pad.values) {
    const auto file = look.files.find(key);
    const auto* seen = file == look.files.end() ? nullptr : &file->second;
    const bool is_right = seen != nullptr && sha256(seen->text) == content_of(value);
    if (is_right || look.left_alone.contains(key)) continue;
    const auto text = text_of(writer, value);
    const auto written = text ? folder.replace(key, seen, *text) : std::unexpected(text.error());
    if (!written) look.fail_with(written.error());
  }
  for (const auto& [key, file] : look.files) {
    if (pad.values.contains(key)) continue;
    if (auto removed = folder.remove(key, file); !removed) look.fail_with(removed.error());
  }
}

Result<std::string> follow_folder(SessionWriter& writer, const std::string& root, bool writes) {
  if (auto known = writer.settle_unknown_commit(); !known) return forward(known);
  const bool makes = writes && !writer.state().scratchpad.values.empty();
  auto folder = ScratchFolder::open(root, writer.lease().session.text(), makes);
  if (!folder) return folder.error().message;
  if (*folder == nullptr) return std::string();
  Look look = look_into(**folder);
  if (auto taken = take_edits_in(writer, look); !taken) return forward(taken);
  // What an owner that is outdated knows is outdated.
  if (!writes) return look.problem;
  if (auto ours = writer.check_may_act(); !ours) return forward(ours);
  write_notes(writer, **folder, look);
  return look.problem;
}

}  // namespace

Result<void> Session::set_scratch(const std::string& key, const std::string& text) {
  if (auto checked = check_scratch_key(key); !checked) return checked;
  if (text.size() > scratch_value_bytes_max) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("{} bytes are too many for one note: {} are the most", text.size(),
                            scratch_value_bytes_max));
  }
  return commit_change(parts_->writer, key, text);
}

Result<void> Session::erase_scratch(const std::string& key) {
  if (auto checked = check_scratch_key(key); !checked) return checked;
  if (!state().scratchpad.values.contains(key)) return {};
  return commit_change(parts_->writer, key, std::nullopt);
}

Result<std::optional<std::string>> Session::find_scratch(const std::string& key) const {
  const auto value = state().scratchpad.values.find(key);
  if (value == state().scratchpad.values.end()) return std::nullopt;
  auto text = text_of(parts_->writer, value->second);
  if (!text) return forward(text);
  return *std::move(text);
}

Result<std::string> read_scratch_folder(Session& session, const std::string& root) {
  return follow_folder(session_parts(session).writer, root, false);
}

Result<std::string> write_scratch_folder(Session& session, const std::string& root) {
  return follow_folder(session_parts(session).writer, root, true);
}

}  // namespace perdure
