// Notes are committed first; then the folder follows.

#include "session/scratch.hpp"

#include <filesystem>
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
#include "perdure/core/json.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/runtime/scratchpad.hpp"
#include "perdure/runtime/session.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/body.hpp"
#include "perdure/store/entry.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/store.hpp"
#include "scratchpad/folder.hpp"
#include "scratchpad/mirror.hpp"
#include "session/draft.hpp"
#include "session/held_session.hpp"
#include "session/parts.hpp"

namespace perdure {
namespace {

std::string root_in(const std::string& metadata) {
  const auto object = parse_json(metadata);
  const Json* const root = object ? object->find("scratchpad_root") : nullptr;
  const std::string* const text = root != nullptr ? root->as_string() : nullptr;
  return text != nullptr ? *text : std::string();
}

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

Digest content_of(const ScratchValue& value) {
  if (const auto* const ref = std::get_if<BlobRef>(&value)) return ref->digest;
  return sha256(std::get<std::string>(value));
}

// Every content that a key had, on the line that leads here.
using History = std::map<std::string, std::set<Digest>>;

Result<History> read_history(const HeldSession& held) {
  auto entries = held.world().store.log().read(
      held.lease().session, {.as_of = at_position(held.head()), .channel = "scratchpad"});
  if (!entries) return forward(entries);
  History history;
  for (const Entry& entry : *entries) {
    if (entry.kind != "set" || entry.condition != Condition::intact) continue;
    const auto change = scratch_entry_from_json(entry.kind, entry.body.bytes());
    if (change && change->value) history[change->key].insert(content_of(*change->value));
  }
  return history;
}

scratch::Truth truth_of(const HeldSession& held) {
  auto history = std::make_shared<std::optional<History>>();
  return {
      .pad = held.state().scratchpad,
      .load = [&held](const BlobRef& ref) { return held.world().store.blobs().get(ref); },
      .ever_had = [&held, history](const std::string& key, const Digest& content) -> Result<bool> {
        if (!*history) {
          auto read = read_history(held);
          if (!read) return forward(read);
          *history = *std::move(read);
        }
        const auto had = (*history)->find(key);
        return had != (*history)->end() && had->second.contains(content);
      }};
}

Result<void> commit_change(SessionParts& parts, const std::string& key,
                           const std::optional<std::string>& text) {
  if (auto known = parts.held.find_out(); !known) return forward(known);
  Draft draft = parts.held.draft();
  if (auto added = add_change(parts.held, draft, {.key = key}, text); !added) return added;
  if (auto receipt = parts.held.commit(std::move(draft)); !receipt) return forward(receipt);
  if (parts.mirror) parts.mirror->touch(key);
  mirror_scratchpad(parts);
  return {};
}

}  // namespace

void follow_metadata(SessionParts& parts, const std::string& metadata) {
  const std::string root = root_in(metadata);
  if (root == parts.scratch_root) return;
  parts.scratch_root = root;
  parts.mirror.reset();
  if (root.empty()) return;
  const std::string session = parts.held.lease().session.text();
  const std::string place = (std::filesystem::path(parts.scratch_base) / root).string();
  parts.mirror = std::make_unique<scratch::Mirror>(
      parts.held.world().store.upkeep().info().incarnation, session,
      [place, session] { return scratch::open_folder(place, scratch::folder_name(session)); });
}

Result<void> add_outside_edits(SessionParts& parts, Draft& draft) {
  if (!parts.mirror) return {};
  for (const scratch::Edit& edit : parts.mirror->look(truth_of(parts.held))) {
    auto added = add_change(parts.held, draft, {.key = edit.key, .by = "outside"}, edit.text);
    if (!added) return added;
  }
  return {};
}

void mirror_scratchpad(SessionParts& parts) {
  if (parts.mirror) parts.mirror->write(truth_of(parts.held));
}

Result<void> Session::set_scratch(const std::string& key, const std::string& text) {
  if (auto checked = check_scratch_key(key); !checked) return checked;
  if (text.size() > scratch_value_bytes_max) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("{} bytes are too many for one note: {} are the most", text.size(),
                            scratch_value_bytes_max));
  }
  return commit_change(*parts_, key, text);
}

Result<void> Session::erase_scratch(const std::string& key) {
  if (auto checked = check_scratch_key(key); !checked) return checked;
  if (!state().scratchpad.values.contains(key)) return {};
  return commit_change(*parts_, key, std::nullopt);
}

Result<std::optional<std::string>> Session::find_scratch(const std::string& key) const {
  const auto value = state().scratchpad.values.find(key);
  if (value == state().scratchpad.values.end()) return std::nullopt;
  if (const auto* const text = std::get_if<std::string>(&value->second)) return *text;
  auto bytes = parts_->held.world().store.blobs().get(std::get<BlobRef>(value->second));
  if (!bytes) return forward(bytes);
  return *std::move(bytes);
}

std::vector<ScratchProblem> Session::scratch_problems() const {
  return parts_->mirror ? parts_->mirror->problems() : std::vector<ScratchProblem>{};
}

}  // namespace perdure
