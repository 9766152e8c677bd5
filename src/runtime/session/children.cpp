// A grant and the session it is for are one commit. An end is committed by the child before its
// parent is told, so that nothing is spent after what was not spent has gone back.

#include "session/children.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <utility>

#include "dispatch/view.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/core/id_source.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/runtime/conversation.hpp"
#include "perdure/runtime/mail.hpp"
#include "perdure/runtime/read.hpp"
#include "perdure/runtime/session.hpp"
#include "perdure/runtime/session_values.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "perdure/store/store.hpp"
#include "runtime/api/records.hpp"
#include "session/draft.hpp"
#include "session/held_session.hpp"
#include "session/parts.hpp"
#include "session/row_words.hpp"

namespace perdure {
namespace {

Result<void> add_change_of(Budget& budget, Draft& draft, BudgetEntry wanted) {
  auto entered = enter(budget, std::move(wanted));
  if (!entered) return forward(entered);
  draft.add(appending("budget", std::string(to_string(entered->change)), to_json(*entered)));
  return {};
}

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
Result<ChildSpawn> without_record(const HeldSession& held, const Parent& parent) {
  ChildSpawn spawn{
      .child = held.lease().session.text(), .root = parent.session.text(), .limit_micros = 0};
  auto value = held.world().store.log().find_value(parent.session, "origin", Point::head());
  if (!value && !is_missing(value.error())) return forward(value);
  if (value && *value && (*value)->condition == Condition::intact) {
    if (const auto origin = origin_from_json((*value)->body.bytes())) {
      spawn.root = origin->root;
      spawn.nonce = origin->nonce;
    }
  }
  return spawn;
}

Result<std::string> text_of_body(const HeldSession& held, const Body& body) {
  const auto ref = body.blob();
  if (!ref) return body.bytes();
  return held.world().store.blobs().get(*ref);
}

Result<ChildSpawn> read_spawn(const HeldSession& held, const Parent& parent) {
  auto entries =
      held.world().store.log().read(parent.session, {.as_of = Point::position(parent.position),
                                                     .from = parent.position,
                                                     .to = parent.position,
                                                     .channel = "children"});
  if (!entries && !is_missing(entries.error())) return forward(entries);
  if (!entries || entries->empty()) return without_record(held, parent);
  auto text = text_of_body(held, entries->front().body);
  if (!text && may_pass(text.error())) return forward(text);
  if (!text) return without_record(held, parent);
  auto spawn = child_spawn_from_json(*text);
  if (!spawn || spawn->child != held.lease().session.text()) return without_record(held, parent);
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

Accounts accounts_of(const HeldSession& held) {
  return {.budget = held.state().budget, .children = held.state().children};
}

Result<void> check_all_settled(HeldSession& held) {
  auto open = dispatch::open_calls(held);
  if (!open) return forward(open);
  if (open->empty()) return {};
  return fail(ErrorCode::conflict, "a call is unresolved: resolve it first",
              call_name(held.lease().session, open->front().call()));
}

Result<void> add_beginning(const HeldSession& held, const std::optional<Parent>& parent,
                           Draft& draft) {
  if (!parent || parent->lineage != Lineage::child) {
    Origin origin = root_origin(held.lease().session, held.world().ids);
    // What cannot be read any more must not be done once more under a nonce of its own.
    if (has_lost_origin(held.state())) origin.nonce.clear();
    draft.add(replacing("origin", "origin", to_json(origin)));
    return {};
  }
  auto spawn = read_spawn(held, *parent);
  if (!spawn) return forward(spawn);
  draft.add(replacing(
      "origin", "origin",
      to_json(Origin{
          .root = spawn->root, .nonce = spawn->nonce, .agent_digest = spawn->agent_digest})));
  if (spawn->setup) draft.add(replacing("setup", "setup", to_json(*spawn->setup)));
  if (!spawn->limit_micros) return {};
  Budget budget;
  return add_change_of(budget, draft,
                       {.change = BudgetChange::limit, .micros = spawn->limit_micros});
}

Result<void> add_end(const SessionParts& parts, Draft& draft, Budget& budget,
                     const Ending& ending) {
  if (!draft.batch.status) {
    const std::string words = row_words(ending.result, title_bytes_max);
    draft.stand(ending.change, {.why = words.empty() ? "it has finished" : words});
  }
  const auto& before = parts.held.state().end;
  const std::int64_t recorded = budget.totals.recorded();
  const ChildEnd end{.child = parts.held.lease().session.text(),
                     .number = before ? before->number + 1 : 1,
                     .status = ending.change.status,
                     .spent_micros = recorded,
                     .unconfirmed_micros = budget.totals.unconfirmed + budget.totals.reserved,
                     .result = ending.result};
  draft.add(appending("children", "end", to_json(end)));
  if (!parts.parent || !budget.totals.limit) return {};
  return add_change_of(
      budget, draft,
      {.change = BudgetChange::limit, .micros = recorded, .what = "the rest goes back"});
}

Result<void> tell_parent(const SessionParts& parts) {
  const auto& end = parts.held.state().end;
  if (!parts.parent || !end || !parts.held.has_ended()) return {};
  auto told =
      Mail(parts.held.world().store, parts.parent->session).child_result(end_id(*end), *end);
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
    [[maybe_unused]] const auto returned = add_change_of(
        budget, draft, {.change = BudgetChange::give_back, .subject = end.child, .micros = rest});
  }
  // What nobody knows of the child's is not known here either, once.
  const std::int64_t unsure = end.spent_micros - spent;
  if (unsure > 0) add_unconfirmed(budget, draft, end.child, unsure);
  if (spent > known) {
    [[maybe_unused]] const auto recorded =
        add_change_of(budget, draft,
                      {.change = BudgetChange::spend,
                       .micros = spent - known,
                       .what = "beyond the grant of " + end.child});
  }
  draft.add(appending("children", "result", to_json(end)));
  child->second.end = end;
}

Result<void> ask_children(SessionParts& parts) {
  Draft draft = parts.held.draft();
  Accounts accounts = accounts_of(parts.held);
  for (const auto& [id, child] : parts.held.state().children) {
    if (child.end) continue;
    auto session = SessionId::parse(id);
    if (!session) continue;
    auto end = read_end(parts.held.world().store, *session);
    if (!end) return forward(end);
    if (*end) add_result(draft, accounts, **end);
  }
  if (draft.batch.entries.empty()) return {};
  if (auto receipt = parts.held.commit(std::move(draft)); !receipt) return forward(receipt);
  return {};
}

Result<SessionId> Session::spawn(const ChildSpec& spec) {
  HeldSession& held = parts_->held;
  if (auto known = held.find_out(); !known) return forward(known);
  SessionId child = spec.id ? *spec.id : mint<SessionTag>(held.world().ids);
  if (state().children.contains(child.text())) return child;
  if (auto goes_on = held.check_goes_on(); !goes_on) return forward(goes_on);
  Draft draft = held.draft();
  Budget budget = state().budget;
  ChildSpawn record{.child = child.text(),
                    .root = state().origin ? state().origin->root : id().text(),
                    .nonce = state().origin ? state().origin->nonce : "",
                    .agent_digest = spec.agent_digest,
                    .limit_micros = spec.grant_micros,
                    .setup = spec.setup};
  if (!spec.grant_micros && budget.totals.limit) record.limit_micros = 0;
  if (spec.grant_micros) {
    auto granted = add_change_of(
        budget, draft,
        {.change = BudgetChange::grant, .subject = child.text(), .micros = spec.grant_micros});
    if (!granted) return forward(granted);
  }
  // Last: the child's row names its position.
  draft.add(appending("children", "spawn", to_json(record)));
  draft.batch.children.push_back(
      {.id = child,
       .annotation = spec.annotation,
       .origin =
           NewSession::Origin{.session = id(), .at = Point::head(), .lineage = Lineage::child}});
  if (auto receipt = held.commit(std::move(draft)); !receipt) return forward(receipt);
  return child;
}

Result<void> Session::finish(const std::string& result, Status as) {
  if (!has_ended(as)) {
    return fail(ErrorCode::invalid_argument, fmt::format("{} is no end", to_string(as)));
  }
  if (auto known = parts_->held.find_out(); !known) return known;
  if (parts_->held.has_ended() && as != status()) {
    return fail(ErrorCode::conflict,
                fmt::format("the session is {}: reopen it first", to_string(status())));
  }
  if (parts_->held.has_ended() && state().end) return tell_parent(*parts_);
  if (auto settled = check_all_settled(parts_->held); !settled) return settled;
  Draft draft = parts_->held.draft();
  Budget budget = state().budget;
  auto added = add_end(*parts_, draft, budget, {.change = {.status = as}, .result = result});
  if (!added) return added;
  if (auto receipt = parts_->held.commit(std::move(draft)); !receipt) return forward(receipt);
  return tell_parent(*parts_);
}

}  // namespace perdure
