// A grant and the session it is for are one commit. An end is committed by the child before its
// parent is told, so that nothing is spent after what was not spent has gone back.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <utility>

#include "dispatch/calls.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/runtime/conversation.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/session.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "runtime/api/records.hpp"
#include "session/parts.hpp"
#include "writer/draft.hpp"
#include "writer/session_writer.hpp"

namespace perdure {
namespace {

// Of an entry whose row was zeroed, not even the channel is known.
bool has_lost_origin(const State& state) {
  return std::ranges::any_of(state.skipped, [](const Skipped& skipped) {
    return skipped.channel == "origin" ||
           (skipped.channel.empty() && skipped.reason == SkipReason::damaged);
  });
}

// It was granted once, so the limit is not asked: it may have been lowered since.
void add_unconfirmed(Budget& budget, Draft& draft, const std::string& child, std::int64_t micros) {
  for (const BudgetChange change : {BudgetChange::reserve, BudgetChange::unconfirmed}) {
    BudgetEntry entry{.change = change, .subject = child, .micros = micros};
    if (!apply(budget, entry)) return;
    entry.after = budget.totals;
    draft.add(appending("budget", std::string(to_string(change)), to_json(entry)));
  }
}

bool is_missing(const Error& error) { return error.code == ErrorCode::not_found; }

// Unlike a body that is gone or damaged.
bool may_pass(const Error& error) {
  return !is_missing(error) && error.code != ErrorCode::corrupted;
}

// The parent's log no longer says what the child may spend: it may spend nothing.
Result<ChildSpawn> without_record(const SessionWriter& writer, const Parent& parent) {
  ChildSpawn spawn{
      .child = writer.lease().session.text(), .root = parent.session.text(), .limit_micros = 0};
  auto value = writer.deps().store.log().find_value(parent.session, "origin", Point::head());
  if (!value && !is_missing(value.error())) return forward(value);
  if (value && *value && (*value)->condition == Condition::intact) {
    if (const auto origin = origin_from_json((*value)->body.bytes())) {
      spawn.root = origin->root;
      spawn.nonce = origin->nonce;
    }
  }
  return spawn;
}

Result<std::string> text_of_body(const SessionWriter& writer, const Body& body) {
  const auto ref = body.blob();
  if (!ref) return body.bytes();
  return writer.deps().store.blobs().get(*ref);
}

Result<ChildSpawn> read_spawn(const SessionWriter& writer, const Parent& parent) {
  auto entries =
      writer.deps().store.log().read(parent.session, {.as_of = Point::position(parent.position),
                                                      .from = parent.position,
                                                      .to = parent.position,
                                                      .channel = "children"});
  if (!entries && !is_missing(entries.error())) return forward(entries);
  if (!entries || entries->empty()) return without_record(writer, parent);
  auto text = text_of_body(writer, entries->front().body);
  if (!text && may_pass(text.error())) return forward(text);
  if (!text) return without_record(writer, parent);
  auto spawn = child_spawn_from_json(*text);
  if (!spawn || spawn->child != writer.lease().session.text())
    return without_record(writer, parent);
  return spawn;
}

MessageId end_id(const ChildEnd& end) {
  constexpr std::size_t digits = 32;
  const std::string digest = to_hex(sha256(fmt::format("end {} of {}", end.number, end.child)));
  return MessageId::parse("msg_" + digest.substr(0, digits)).value();
}

Result<std::optional<ChildEnd>> read_end(Store& store, const SessionId& child) {
  auto row = store.sessions().read(child);
  if (!row && is_missing(row.error())) return std::nullopt;
  if (!row) return forward(row);
  if (!has_ended(row->status)) return std::nullopt;
  auto state = read_state(store, child, Point::head());
  if (!state) return forward(state);
  return std::move(state->end);
}

}  // namespace

Accounts accounts_of(const SessionWriter& writer) {
  return {.budget = writer.state().budget, .children = writer.state().children};
}

Result<void> check_all_settled(SessionWriter& writer) {
  auto open = dispatch::open_calls(writer);
  if (!open) return forward(open);
  if (open->empty()) return {};
  return fail(ErrorCode::conflict, "a call is unresolved: resolve it first",
              call_name(writer.lease().session, open->front().call()));
}

Result<void> add_beginning(const SessionWriter& writer, const std::optional<Parent>& parent,
                           Draft& draft) {
  if (!parent || parent->lineage != Lineage::child) {
    Origin origin = root_origin(writer.lease().session, writer.deps().ids);
    // What cannot be read any more must not be done once more under a nonce of its own.
    if (has_lost_origin(writer.state())) origin.nonce.clear();
    draft.add(replacing("origin", "origin", to_json(origin)));
    return {};
  }
  auto spawn = read_spawn(writer, *parent);
  if (!spawn) return forward(spawn);
  draft.add(replacing(
      "origin", "origin",
      to_json(Origin{
          .root = spawn->root, .nonce = spawn->nonce, .agent_digest = spawn->agent_digest})));
  if (spawn->setup) draft.add(replacing("setup", "setup", to_json(*spawn->setup)));
  if (!spawn->limit_micros) return {};
  Budget budget;
  return add_budget_change(draft, budget,
                           {.change = BudgetChange::limit, .micros = spawn->limit_micros});
}

Result<void> add_end(const SessionParts& parts, Draft& draft, Budget& budget,
                     const Ending& ending) {
  if (!draft.batch.status) {
    const std::string words = row_text(ending.result, title_bytes_max);
    draft.stand(ending.change, {.why = words.empty() ? "it has finished" : words});
  }
  const auto& before = parts.writer.state().end;
  const std::int64_t recorded = budget.totals.recorded();
  const ChildEnd end{.child = parts.writer.lease().session.text(),
                     .number = before ? before->number + 1 : 1,
                     .status = ending.change.status,
                     .spent_micros = recorded,
                     .unconfirmed_micros = budget.totals.unconfirmed + budget.totals.reserved,
                     .result = ending.result};
  draft.add(appending("children", "end", to_json(end)));
  if (!parts.parent || !budget.totals.limit) return {};
  return add_budget_change(
      draft, budget,
      {.change = BudgetChange::limit, .micros = recorded, .what = "the rest goes back"});
}

Result<void> tell_parent(const SessionParts& parts) {
  const auto& end = parts.writer.state().end;
  if (!parts.parent || !end || !parts.writer.has_ended()) return {};
  auto told =
      Mail(parts.writer.deps().store, parts.parent->session).child_result(end_id(*end), *end);
  if (!told && is_missing(told.error())) return {};
  return told;
}

void add_result(Draft& draft, Accounts& accounts, const ChildEnd& end) {
  const auto child = accounts.children.find(end.child);
  if (child == accounts.children.end()) return;
  std::int64_t known = child->second.end ? child->second.end->spent_micros : 0;
  if (child->second.end && end.number <= child->second.end->number) return;
  Budget& budget = accounts.budget;
  const std::int64_t spent = end.spent_micros - (known == 0 ? end.unconfirmed_micros : 0);
  if (const auto grant = budget.grants.find(end.child); grant != budget.grants.end()) {
    known = std::max(known, grant->second);
    const std::int64_t rest = std::max<std::int64_t>(0, grant->second - spent);
    [[maybe_unused]] const auto returned = add_budget_change(
        draft, budget, {.change = BudgetChange::give_back, .subject = end.child, .micros = rest});
  }
  // What nobody knows of the child's is not known here either, once.
  const std::int64_t unsure = end.spent_micros - spent;
  if (unsure > 0) add_unconfirmed(budget, draft, end.child, unsure);
  if (spent > known) {
    [[maybe_unused]] const auto recorded =
        add_budget_change(draft, budget,
                          {.change = BudgetChange::spend,
                           .micros = spent - known,
                           .what = "beyond the grant of " + end.child});
  }
  draft.add(appending("children", "result", to_json(end)));
  child->second.end = end;
}

Result<void> ask_children(SessionParts& parts) {
  Draft draft = parts.writer.draft();
  Accounts accounts = accounts_of(parts.writer);
  for (const auto& [id, child] : parts.writer.state().children) {
    if (child.end) continue;
    auto session = SessionId::parse(id);
    if (!session) continue;
    auto end = read_end(parts.writer.deps().store, *session);
    if (!end) return forward(end);
    if (*end) add_result(draft, accounts, **end);
  }
  if (draft.batch.entries.empty()) return {};
  if (auto receipt = parts.writer.commit(std::move(draft)); !receipt) return forward(receipt);
  return {};
}

}  // namespace perdure
