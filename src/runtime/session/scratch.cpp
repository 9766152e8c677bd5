// Notes are committed first; files follow.

#include <algorithm>
#include <expected>
#include <fmt/format.h>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/runtime/session.hpp"
#include "perdure/runtime/session_values.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "runtime/api/records.hpp"
#include "session/draft.hpp"
#include "session/held_session.hpp"
#include "session/parts.hpp"
#include "session/scratch_folder.hpp"

namespace perdure {
namespace {

Result<void> add_change(const HeldSession& held, Draft& draft, ScratchEntry entry,
                        const std::optional<std::string>& text) {
  std::optional<BlobRef> blob;
  if (text && text->size() > scratch_inline_bytes_max) {
    auto put = held.world().store.blobs().put(*text);
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

Result<void> commit_change(HeldSession& held, const std::string& key,
                           const std::optional<std::string>& text) {
  if (auto known = held.find_out(); !known) return forward(known);
  Draft draft = held.draft();
  if (auto added = add_change(held, draft, {.key = key}, text); !added) return added;
  if (auto receipt = held.commit(std::move(draft)); !receipt) return forward(receipt);
  return {};
}

Digest content_of(const ScratchValue& value) {
  if (const auto* const ref = std::get_if<BlobRef>(&value)) return ref->digest;
  return sha256(std::get<std::string>(value));
}

Result<std::string> text_of(const HeldSession& held, const ScratchValue& value) {
  if (const auto* const text = std::get_if<std::string>(&value)) return *text;
  return held.world().store.blobs().get(std::get<BlobRef>(value));
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
Result<History> read_history(const HeldSession& held) {
  Log& log = held.world().store.log();
  const SessionId& session = held.lease().session;
  auto row = held.world().store.sessions().read(session);
  if (!row) return forward(row);
  History history;
  std::vector<Position> ends = {held.head()};
  if (row->next - 1 > held.head()) ends.push_back(row->next - 1);
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const Point end = at_position(ends[i]);
    auto entries = log.read(session, {.as_of = end, .channel = "scratchpad"});
    if (!entries && entries.error().code == ErrorCode::not_found) continue;
    if (!entries) return forward(entries);
    add_contents(history, *entries);
    auto line = log.line(session, end);
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
Result<void> take_edits_in(HeldSession& held, const Look& look) {
  Draft draft = held.draft();
  std::optional<History> history;
  for (const auto& [key, file] : look.files) {
    const Digest content = sha256(file.text);
    if (is_same(held.state().scratchpad, key, content)) continue;
    if (!history) {
      auto read = read_history(held);
      if (!read) return forward(read);
      history = *std::move(read);
    }
    const auto had = history->find(key);
    if (had != history->end() && had->second.contains(content)) continue;
    auto added = add_change(held, draft, {.key = key, .by = "outside"}, file.text);
    if (!added) return added;
  }
  if (draft.batch.entries.empty()) return {};
  if (auto receipt = held.commit(std::move(draft)); !receipt) return forward(receipt);
  return {};
}

// All that is in `look`, and differs from the log now, is an old note: edits were taken in.
void write_notes(const HeldSession& held, ScratchFolder& folder, Look& look) {
  const Scratchpad& pad = held.state().scratchpad;
  for (const auto& [key, value] : pad.values) {
    const auto file = look.files.find(key);
    const auto* seen = file == look.files.end() ? nullptr : &file->second;
    const bool is_right = seen != nullptr && sha256(seen->text) == content_of(value);
    if (is_right || look.left_alone.contains(key)) continue;
    const auto text = text_of(held, value);
    const auto written = text ? folder.replace(key, seen, *text) : std::unexpected(text.error());
    if (!written) look.fail_with(written.error());
  }
  for (const auto& [key, file] : look.files) {
    if (pad.values.contains(key)) continue;
    if (auto removed = folder.remove(key, file); !removed) look.fail_with(removed.error());
  }
}

Result<std::string> follow_folder(HeldSession& held, const std::string& root, bool writes) {
  if (auto known = held.find_out(); !known) return forward(known);
  const bool makes = writes && !held.state().scratchpad.values.empty();
  auto folder = ScratchFolder::open(root, held.lease().session.text(), makes);
  if (!folder) return folder.error().message;
  if (*folder == nullptr) return std::string();
  Look look = look_into(**folder);
  if (auto taken = take_edits_in(held, look); !taken) return forward(taken);
  // What an owner that is outdated knows is outdated.
  if (!writes) return look.problem;
  if (auto ours = held.check_may_act(); !ours) return forward(ours);
  write_notes(held, **folder, look);
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
  return commit_change(parts_->held, key, text);
}

Result<void> Session::erase_scratch(const std::string& key) {
  if (auto checked = check_scratch_key(key); !checked) return checked;
  if (!state().scratchpad.values.contains(key)) return {};
  return commit_change(parts_->held, key, std::nullopt);
}

Result<std::optional<std::string>> Session::find_scratch(const std::string& key) const {
  const auto value = state().scratchpad.values.find(key);
  if (value == state().scratchpad.values.end()) return std::nullopt;
  auto text = text_of(parts_->held, value->second);
  if (!text) return forward(text);
  return *std::move(text);
}

Result<std::string> Session::read_scratch_folder(const std::string& root) {
  return follow_folder(parts_->held, root, false);
}

Result<std::string> Session::write_scratch_folder(const std::string& root) {
  return follow_folder(parts_->held, root, true);
}

}  // namespace perdure
