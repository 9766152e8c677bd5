// First the note of what may be left behind, then the files, then the note of what was: a process
// may die between any two of them.

#include "scratchpad/mirror.hpp"

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/runtime/scratchpad.hpp"
#include "perdure/store/body.hpp"
#include "scratchpad/folder.hpp"
#include "scratchpad/mirror_state.hpp"

namespace perdure::scratch {
namespace {

using Why = ScratchProblem::Why;

constexpr std::string_view extension = ".txt";

std::string file_of(const std::string& key) { return key + std::string(extension); }

std::optional<std::string> key_of(const std::string& name) {
  if (!name.ends_with(extension)) return std::nullopt;
  std::string key = name.substr(0, name.size() - extension.size());
  if (!check_scratch_key(key)) return std::nullopt;
  return key;
}

// The note itself, and what a process that died had not renamed yet.
bool is_mirrors_own(const std::string& name) {
  return name == state_name || (name.starts_with('.') && name.ends_with(".new"));
}

Content content_in(const Scratchpad& pad, const std::string& key) {
  const auto value = pad.values.find(key);
  if (value == pad.values.end()) return std::nullopt;
  if (const auto* const ref = std::get_if<BlobRef>(&value->second)) return ref->digest;
  return sha256(std::get<std::string>(value->second));
}

}  // namespace

Verdict judge(const Content& file, const Content& log,
              const std::function<bool(const Content&)>& is_ours) {
  if (file == log) return Verdict::same;
  if (is_ours(file)) return Verdict::stale;
  if (file) return Verdict::changed;
  // Whoever removed the file has seen another content than the log has now.
  return is_ours(log) ? Verdict::removed : Verdict::stale;
}

void Mirror::note(Why why, std::string name, std::string message) {
  ScratchProblem problem{.why = why, .name = std::move(name), .message = std::move(message)};
  if (std::ranges::find(found_, problem) == found_.end()) found_.push_back(std::move(problem));
}

std::vector<ScratchProblem> Mirror::problems() const {
  std::vector<ScratchProblem> all = found_;
  std::ranges::copy(failed_, std::back_inserter(all));
  return all;
}

void Mirror::lose(const Error& error) {
  const Why why = error.code == ErrorCode::lease_held         ? Why::in_use
                  : error.code == ErrorCode::invalid_argument ? Why::not_a_file
                                                              : Why::failed;
  note(why, "", error.message);
  folder_.reset();
}

bool Mirror::open() {
  if (folder_ != nullptr) return true;
  auto opened = open_();
  if (!opened) {
    lose(opened.error());
    return false;
  }
  folder_ = *std::move(opened);
  state_.left.clear();
  saved_.reset();
  known_.clear();
  is_surveyed_ = false;
  return read_state();
}

bool Mirror::read_state() {
  auto text = folder_->read(std::string(state_name));
  if (!text) {
    lose(text.error());
    return false;
  }
  auto state = *text ? mirror_state_from_json(**text) : std::nullopt;
  has_state_ = state.has_value();
  if (!state) return true;
  if (state->session != state_.session || state->store != state_.store) {
    note(Why::foreign, "",
         fmt::format("the folder mirrors session {} of store {}: take another root, or remove "
                     "its {}",
                     state->session, state->store, state_name));
    folder_.reset();
    return false;
  }
  state_ = *state;
  saved_ = *std::move(state);
  return true;
}

std::map<std::string, Listed> Mirror::keys_in(const Listing& listing) {
  std::map<std::string, Listed> files;
  for (const Listed& file : listing.files) {
    if (is_mirrors_own(file.name)) continue;
    if (auto key = key_of(file.name)) {
      files.emplace(*std::move(key), file);
    } else {
      note(Why::not_a_key, file.name,
           fmt::format("{} is no <key>{}: not taken in", file.name, extension));
    }
  }
  return files;
}

std::optional<Mirror::Seen> Mirror::see(const std::string& key) {
  const std::string name = file_of(key);
  auto bytes = folder_->read(name);
  if (!bytes) {
    const bool is_odd = bytes.error().code == ErrorCode::invalid_argument;
    const bool is_large = bytes.error().subject == "too_large";
    note(is_large ? Why::too_large
         : is_odd ? Why::not_a_file
                  : Why::unreadable,
         name, bytes.error().message);
    return std::nullopt;
  }
  if (!*bytes) return Seen{};
  const Digest digest = sha256(**bytes);
  return Seen{.content = digest, .bytes = **std::move(bytes)};
}

std::optional<Mirror::Seen> Mirror::see(const std::string& key, const Listed& file,
                                        std::int64_t begun_ns) {
  if (!file.is_file) {
    note(Why::not_a_file, file.name, file.name + " is no plain file: not taken in");
    return std::nullopt;
  }
  if (file.stamp.size > scratch_value_bytes_max) {
    note(Why::too_large, file.name, file.name + " is too large: not taken in");
    return std::nullopt;
  }
  const auto known = known_.find(key);
  if (known != known_.end() && known->second.stamp == file.stamp) {
    return Seen{.content = known->second.content};
  }
  auto seen = see(key);
  known_.erase(key);
  // A file that changed only now may change again and keep its stamp.
  const bool is_settled = file.stamp.changed_ns < begun_ns;
  if (seen && seen->content && is_settled) known_[key] = {file.stamp, *seen->content};
  return seen;
}

std::optional<Verdict> Mirror::judge_key(const std::string& key, const Content& seen,
                                         const Truth& truth) {
  std::optional<Error> unknown;
  const auto is_ours = [&](const Content& content) {
    const auto left = state_.left.find(key);
    if (left != state_.left.end())
      return std::ranges::find(left->second, content) != left->second.end();
    if (!content) return true;
    if (has_state_) return false;
    const auto had = truth.ever_had(key, *content);
    if (!had) unknown = had.error();
    return had && *had;
  };
  const Verdict verdict = judge(seen, content_in(truth.pad, key), is_ours);
  if (!unknown) return verdict;
  note(Why::failed, file_of(key), unknown->message);
  return std::nullopt;
}

// That the mirror left this content there, and no other.
void Mirror::settle(const std::string& key, const Content& content) {
  if (content) {
    state_.left[key] = {content};
  } else {
    state_.left.erase(key);
  }
}

// That the mirror may have left this content there, too.
void Mirror::allow(const std::string& key, const Content& content) {
  auto& left = state_.left[key];
  if (std::ranges::find(left, content) == left.end()) left.push_back(content);
}

void Mirror::survey(const std::string& key, std::optional<Seen> seen, const Truth& truth,
                    std::vector<Edit>& edits) {
  if (!seen) return;
  const auto verdict = judge_key(key, seen->content, truth);
  if (!verdict) return;
  if (*verdict == Verdict::same) return settle(key, seen->content);
  stale_.insert(key);
  if (*verdict == Verdict::stale && seen->content) allow(key, seen->content);
  if (*verdict == Verdict::removed) edits.push_back({.key = key});
  if (*verdict != Verdict::changed) return;
  // It is known by its stamp only, if nobody committed what an earlier look found.
  if (seen->bytes.empty()) seen = see(key);
  if (!seen || !seen->content) return;
  if (!fits_json(seen->bytes)) {
    return note(Why::not_text, file_of(key), file_of(key) + " is no UTF-8: not taken in");
  }
  edits.push_back({.key = key, .text = std::move(seen->bytes)});
}

std::vector<Edit> Mirror::look(const Truth& truth) {
  found_.clear();
  if (!open()) return {};
  auto listing = folder_->list();
  if (!listing && listing.error().code == ErrorCode::not_found) {
    folder_.reset();
    if (!open()) return {};
    listing = folder_->list();
  }
  if (!listing) {
    lose(listing.error());
    return {};
  }
  const auto files = keys_in(*listing);
  std::set<std::string> keys;
  for (const auto& [key, file] : files) keys.insert(key);
  for (const auto& [key, left] : state_.left) keys.insert(key);
  for (const auto& [key, value] : truth.pad.values) keys.insert(key);
  std::vector<Edit> edits;
  for (const std::string& key : keys) {
    const auto file = files.find(key);
    survey(key, file == files.end() ? Seen{} : see(key, file->second, listing->begun_ns), truth,
           edits);
  }
  is_surveyed_ = true;
  has_state_ = true;
  return edits;
}

// What was found to be stale, looked at once more: somebody may have saved a file meanwhile, and
// that comes in first.
std::vector<Mirror::Change> Mirror::stale_files(const Truth& truth) {
  std::vector<Change> changes;
  for (const std::string& key : std::exchange(stale_, {})) {
    const auto seen = see(key);
    const auto verdict = seen ? judge_key(key, seen->content, truth) : std::nullopt;
    if (!verdict) continue;
    const Content wanted = content_in(truth.pad, key);
    if (*verdict == Verdict::same) settle(key, wanted);
    if (*verdict != Verdict::stale) continue;
    allow(key, seen->content);
    allow(key, wanted);
    changes.push_back({.key = key, .content = wanted});
  }
  return changes;
}

Result<void> Mirror::put(const Change& change, const Truth& truth) {
  const std::string name = file_of(change.key);
  known_.erase(change.key);
  if (!change.content) return folder_->remove(name);
  const ScratchValue& value = truth.pad.values.find(change.key)->second;
  if (const auto* const text = std::get_if<std::string>(&value)) return folder_->write(name, *text);
  auto bytes = truth.load(std::get<BlobRef>(value));
  if (!bytes) return forward(bytes);
  return folder_->write(name, *bytes);
}

Result<void> Mirror::save_state() {
  if (saved_ == state_) return {};
  auto written = folder_->write(std::string(state_name), to_json(state_));
  if (written) saved_ = state_;
  return written;
}

void Mirror::write(const Truth& truth) {
  failed_.clear();
  // What it finds is found again by the next look, and taken in then.
  if (folder_ == nullptr || !is_surveyed_) static_cast<void>(look(truth));
  if (folder_ == nullptr) return;
  const auto fails = [this](const Error& error, const std::string& name) {
    failed_.push_back({.why = Why::failed, .name = name, .message = error.message});
  };
  const std::vector<Change> changes = stale_files(truth);
  for (const Change& change : changes) stale_.insert(change.key);
  if (auto saved = save_state(); !saved) return fails(saved.error(), std::string(state_name));
  for (const Change& change : changes) {
    auto made = put(change, truth);
    if (!made) {
      fails(made.error(), file_of(change.key));
      continue;
    }
    settle(change.key, change.content);
    stale_.erase(change.key);
  }
  if (auto saved = save_state(); !saved) fails(saved.error(), std::string(state_name));
}

}  // namespace perdure::scratch
