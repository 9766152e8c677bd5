// Names keep core's rule (id.hpp). Free text, which people write and read, keeps
// it too, but may be empty and may hold spaces anywhere; where it can have several
// lines, also tabs and line breaks.

#include "rules/checks.hpp"

#include <algorithm>
#include <cstddef>
#include <expected>
#include <fmt/format.h>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/api/text.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "store/api/limits.hpp"
#include "store/api/lookup.hpp"

namespace perdure::rules {

namespace {

std::unexpected<Error> refuse(std::string message) {
  return fail(ErrorCode::invalid_argument, std::move(message));
}

Result<void> check_size(std::string_view what, std::size_t bytes, std::size_t bytes_max) {
  if (bytes <= bytes_max) return {};
  return refuse(fmt::format("the {} has {} bytes, at most {} are allowed", what, bytes, bytes_max));
}

Result<void> check_name_or_empty(std::string_view what, std::string_view text) {
  if (text.empty()) return {};
  return check_name(what, text, name_bytes_max);
}

/// A value that was cast from a number may be none that the type names. It would be kept, and
/// mean something else to its readers.
template <class Enum>
Result<void> check_known(std::string_view what, Enum value, Enum last) {
  if (std::to_underlying(value) <= std::to_underlying(last)) return {};
  return refuse(fmt::format("{} is no {}", std::to_underlying(value), what));
}

Result<void> check_known(Status status) { return check_known("status", status, Status::cancelled); }

Result<void> check_known(CallState state) {
  return check_known("state of a call", state, CallState::cancelled);
}

template <class Enum>
Result<void> check_all_known(const std::vector<Enum>& values) {
  for (const Enum value : values) {
    if (auto known = check_known(value); !known) return known;
  }
  return {};
}

template <class Tag>
Result<void> check_id(const Id<Tag>& id) {
  // Any other id was checked when it was made.
  if (!id.empty()) return {};
  return refuse(fmt::format("the {} is empty", Tag::noun));
}

/// Core's rule for names, with the characters of `free` allowed anywhere.
Result<void> check_text(std::string_view what, std::string text, std::size_t bytes_max,
                        std::string_view free) {
  if (text.empty()) return {};
  // Replaced by a letter, not left out: the message names a byte of the original.
  std::ranges::replace_if(
      text, [free](char c) { return free.find(c) != std::string_view::npos; }, '_');
  return check_name(what, text, bytes_max);
}

Result<void> check_line(std::string_view what, const std::string& text) {
  return check_text(what, text, title_bytes_max, " ");
}

Result<void> check_lines(std::string_view what, const std::string& text) {
  return check_text(what, text, text_bytes_max, " \t\r\n");
}

Result<void> check_metadata(const std::string& text) {
  auto sized = check_size("metadata", text.size(), metadata_bytes_max);
  if (!sized) return sized;
  auto json = parse_json(text);
  if (!json) return refuse("the metadata is not JSON: " + json.error().message);
  if (!json->is_object()) return refuse("the metadata is JSON, but not an object");
  return {};
}

Result<void> check_tags(const std::vector<std::string>& tags) {
  if (tags.size() > tags_max) {
    return refuse(fmt::format("there are {} tags, at most {} are allowed", tags.size(), tags_max));
  }
  std::set<std::string_view> seen;
  for (const std::string& tag : tags) {
    auto named = check_name("tag", tag, name_bytes_max);
    if (!named) return named;
    if (!seen.insert(tag).second) return refuse(fmt::format("the tag \"{}\" is there twice", tag));
  }
  return {};
}

Result<void> check_body(const Body& body) {
  if (body.codec() == Codec::blob && !body.blob()) {
    return refuse("a body of codec blob is not a reference to a blob");
  }
  return check_size("body", body.bytes().size(), body_bytes_max);
}

Result<void> check_entry(const NewEntry& entry) {
  auto channel = check_name("channel", entry.channel, name_bytes_max);
  if (!channel) return channel;
  auto kind = check_name("kind", entry.kind, name_bytes_max);
  if (!kind) return kind;
  auto fold = check_known("fold", entry.fold, Fold::replace);
  if (!fold) return fold;
  const Tally& tally = entry.tally;
  if (tally.turns < 0 || tally.steps < 0 || tally.tokens_in < 0 || tally.tokens_out < 0) {
    return refuse("a tally counts below zero; only its cost may (a refund)");
  }
  const auto largest =
      std::max({tally.turns, tally.steps, tally.tokens_in, tally.tokens_out, tally.cost_micros});
  if (largest > tally_max || tally.cost_micros < -tally_max) {
    return refuse(fmt::format("a tally may count to {}", tally_max));
  }
  return check_body(entry.body);
}

Result<void> check_change(const Intend& change) {
  auto tool = check_name("tool", change.tool, name_bytes_max);
  if (!tool) return tool;
  auto effect = check_known("effect class", change.effect, EffectClass::unsafe);
  if (!effect) return effect;
  return check_size("provider's call id", change.provider_id.size(), text_bytes_max);
}

Result<void> check_change(const Dispatch&) { return {}; }

Result<void> check_change(const Settle& change) {
  auto state = check_known(change.state);
  if (!state) return state;
  if (change.state == CallState::intended || change.state == CallState::dispatched) {
    return refuse(fmt::format("a call cannot be settled as {}", to_string(change.state)));
  }
  auto who = check_name_or_empty("who of a call's outcome", change.who);
  if (!who) return who;
  return check_lines("why of a call's outcome", change.why);
}

Result<void> check_checkpoint(const NewCheckpoint& checkpoint) {
  auto reason = check_name_or_empty("checkpoint's reason", checkpoint.reason);
  if (!reason) return reason;
  auto label = check_name_or_empty("label", checkpoint.label);
  if (!label) return label;
  return check_metadata(checkpoint.metadata);
}

Result<void> check_entries(const std::vector<NewEntry>& entries) {
  if (entries.size() > batch_entries_max) {
    return refuse(fmt::format("the batch has {} entries, at most {} are allowed", entries.size(),
                              batch_entries_max));
  }
  for (const NewEntry& entry : entries) {
    auto checked = check_entry(entry);
    if (!checked) return checked;
  }
  return {};
}

Result<void> check_consumed(const std::vector<MessageId>& consumed) {
  std::set<MessageId> seen;
  for (const MessageId& id : consumed) {
    auto checked = check_id(id);
    if (!checked) return checked;
    if (!seen.insert(id).second) {
      return refuse(fmt::format("the batch consumes message {} twice", id.text()));
    }
  }
  return {};
}

Result<void> check_children(const std::vector<NewSession>& children) {
  std::set<SessionId> seen;
  for (const NewSession& child : children) {
    auto checked = check(child);
    if (!checked) return checked;
    if (!seen.insert(child.id).second) {
      return refuse(fmt::format("the batch creates session {} twice", child.id.text()));
    }
  }
  return {};
}

}  // namespace

Result<void> check(const Annotation& annotation) {
  if (annotation.title) {
    auto checked = check_line("title", *annotation.title);
    if (!checked) return checked;
  }
  if (annotation.opening) {
    auto checked = check_lines("opening", *annotation.opening);
    if (!checked) return checked;
  }
  if (annotation.tags) {
    auto checked = check_tags(*annotation.tags);
    if (!checked) return checked;
  }
  if (annotation.metadata) return check_metadata(*annotation.metadata);
  return {};
}

Result<void> check(const StatusChange& change) {
  if (auto known = check_known(change.status); !known) return known;
  return check_lines("wait reason", change.wait_reason);
}

Result<void> check(const NewSession& session) {
  auto id = check_id(session.id);
  if (!id) return id;
  auto annotation = check(session.annotation);
  if (!annotation) return annotation;
  auto status = check(StatusChange{.status = session.status, .wait_reason = session.wait_reason});
  if (!status || !session.origin) return status;
  auto lineage = check_known("lineage", session.origin->lineage, Lineage::child);
  if (!lineage) return lineage;
  return check_id(session.origin->session);
}

Result<void> check(const NewWorker& worker) {
  auto id = check_id(worker.id);
  if (!id) return id;
  if (worker.lease_time < Duration(1)) return refuse("the lease time is below 1 ms");
  if (worker.lease_time > lease_time_max) return refuse("the lease time is beyond a day");
  return check_line("host", worker.host);
}

Result<void> check(const InboxMessage& message) {
  auto session = check_id(message.session);
  if (!session) return session;
  auto id = check_id(message.id);
  if (!id) return id;
  auto kind = check_name("kind", message.kind, name_bytes_max);
  if (!kind) return kind;
  return check_body(message.body);
}

Result<void> check(const Batch& batch) {
  auto id = check_id(batch.id);
  if (!id) return id;
  auto sync = check_known("time of a sync", batch.sync, Sync::later);
  if (!sync) return sync;
  auto entries = check_entries(batch.entries);
  if (!entries) return entries;
  for (const CallChange& change : batch.calls) {
    auto checked = std::visit([](const auto& one) { return check_change(one); }, change);
    if (!checked) return checked;
  }
  if (batch.checkpoint) {
    auto checked = check_checkpoint(*batch.checkpoint);
    if (!checked) return checked;
  }
  if (batch.status) {
    auto checked = check(*batch.status);
    if (!checked) return checked;
  }
  if (batch.annotation) {
    auto checked = check(*batch.annotation);
    if (!checked) return checked;
  }
  auto consumed = check_consumed(batch.consumed);
  if (!consumed) return consumed;
  return check_children(batch.children);
}

Result<void> check(const SessionQuery& query) {
  if (auto statuses = check_all_known(query.statuses); !statuses) return statuses;
  auto sort = check_known("order of sessions", query.sort, SessionSort::cost);
  if (!sort) return sort;
  if (!is_utf8(query.id_prefix) || query.id_prefix.contains('\0')) {
    return fail(ErrorCode::invalid_argument, "no id begins so: the prefix is not UTF-8");
  }
  return check_limit(query.limit);
}

Result<void> check(const LogQuery& query) {
  auto order = check_known("order of entries", query.order, Order::newest_first);
  if (!order) return order;
  return check_limit(query.limit);
}

Result<void> check(const CallQuery& query) {
  if (auto states = check_all_known(query.states); !states) return states;
  return check_limit(query.limit);
}

Result<void> check(Durability durability) {
  return check_known("durability", durability, Durability::process);
}

Result<void> check(const CheckpointQuery& query) { return check_limit(query.limit); }

Sync sync_of(const Batch& batch) {
  const bool acts = std::ranges::any_of(batch.calls, [](const CallChange& change) {
    return !std::holds_alternative<Settle>(change);
  });
  return acts ? Sync::now : batch.sync;
}

Result<void> check_right_to_write(const Standing& standing, const Lease& lease,
                                  const Batch& batch) {
  if (standing.owner != lease.worker || standing.fence != lease.fence) {
    return fail(ErrorCode::lease_lost,
                fmt::format("session {} is at fence {}, this lease has {}: another worker took it "
                            "over or it was released. Stop, and acquire it again.",
                            lease.session.text(), standing.fence, lease.fence),
                standing.owner ? standing.owner->text() : std::string());
  }
  if (standing.head != batch.expected_head) {
    return fail(ErrorCode::conflict,
                fmt::format("session {} is at position {}, the batch expected {}",
                            lease.session.text(), standing.head, batch.expected_head),
                std::to_string(standing.head));
  }
  return {};
}

bool is_settled_end(Status status) {
  return status == Status::completed || status == Status::failed;
}

bool begins(const Batch& batch) {
  return !batch.children.empty() || std::ranges::any_of(batch.calls, [](const CallChange& change) {
    return !std::holds_alternative<Settle>(change);
  });
}

Result<void> check_begins(const Batch& batch, Status before) {
  const Status after = batch.status ? batch.status->status : before;
  if (!has_ended(after) || !begins(batch)) return {};
  return fail(ErrorCode::conflict,
              fmt::format("the session is {}: it begins no call and no child; reopen it first",
                          to_string(after)));
}

std::unexpected<Error> refuse_end(const SessionId& session, Position call) {
  return fail(ErrorCode::conflict, "a call is unresolved: resolve it first",
              call_name(session, call));
}

Result<void> check_limit(std::size_t limit) {
  if (limit >= 1 && limit <= limit_max) return {};
  return refuse(fmt::format("the limit is {}, it must be 1 to {}", limit, limit_max));
}

Result<void> check_resource(const std::string& name) {
  return check_name("resource name", name, name_bytes_max);
}

}  // namespace perdure::rules
