// What the random steps write: sessions, entries, calls, batches. Mostly allowed;
// each part is wrong now and then, so that refusals are compared too.

#include <chrono>

#include "property/script.hpp"
#include "store/api/lookup.hpp"

namespace perdure {

NewSession Script::new_session() {
  NewSession session{.id = made<SessionId>("s")};
  if (dice_.chance(40)) session.annotation = annotation();
  if (dice_.chance(30)) {
    session.status = dice_.chance(60) ? Status::waiting : static_cast<Status>(dice_.below(6));
    session.wait_reason = dice_.pick({"", "approval"});
    session.wake_at = some_time();
  }
  if (!sessions_.empty() && dice_.chance(65)) {
    const SessionId parent = some_session();
    session.origin = NewSession::Origin{
        .session = parent,
        .at = some_point(parent),
        .lineage = dice_.chance(75) ? Lineage::fork : Lineage::child,
    };
  }
  return session;
}

Annotation Script::annotation() {
  Annotation made;
  if (dice_.chance(50)) made.title = dice_.pick({"", "Alpha", "beta", "Alpha", "100%_", "ÄÖ"});
  if (dice_.chance(30)) made.opening = dice_.pick({"", "alphabet", "Beta\nand more", "it's"});
  if (dice_.chance(30)) made.tags.emplace();
  if (made.tags && dice_.chance(70)) made.tags->push_back(dice_.pick({"red", "blue"}));
  if (made.tags && dice_.chance(40)) made.tags->push_back(dice_.pick({"green", "red", "x\"y"}));
  if (dice_.chance(30)) made.metadata = dice_.pick({"{}", R"({"a": 1})", R"({"b":[1,2]})"});
  if (dice_.chance(3)) made.metadata = "[]";
  return made;
}

Body Script::body() {
  switch (dice_.below(8)) {
    case 0:
      return Body::from_bytes(dice_.bytes(dice_.below(40)));
    case 1:
      return Body::from_text(R"({"a": 1.0, "a": "\ud800"})");
    case 2:
      return Body();
    case 3:
      if (!blobs_.empty()) return Body::from_blob(dice_.pick(blobs_));
      return Body::from_bytes("no blob yet");
    default:
      return Body::from_text(std::to_string(++count_));
  }
}

NewEntry Script::entry() {
  NewEntry made;
  made.channel = dice_.chance(1) ? "" : dice_.pick({"transcript", "plan", "x y"});
  made.kind = dice_.pick({"user", "assistant"});
  made.fold = dice_.chance(30) ? Fold::replace : Fold::append;
  made.body = body();
  if (dice_.chance(1)) made.body = Body::from_blob({sha256("never put"), 9});
  if (!blobs_.empty() && dice_.chance(1)) {
    made.body = Body::from_blob({dice_.pick(blobs_).digest, 1'000});
  }
  if (dice_.chance(50)) {
    const auto small = [&] { return static_cast<std::int64_t>(dice_.below(5)); };
    made.tally = {small(), small(), small(), small(), small() - 2};
  }
  made.at = some_time();
  return made;
}

Intend Script::intend(const SessionSummary& session, std::size_t entries, std::size_t at) {
  Intend made;
  const bool right = at < entries && dice_.chance(95);
  made.call = right ? session.next + at : some_position(session.id);
  made.args = dice_.chance(85) ? made.call : dice_.between(0, session.next + entries);
  made.tool = dice_.pick({"send", "read"});
  made.provider_id = dice_.pick({"", "toolu_1"});
  made.effect = static_cast<EffectClass>(dice_.below(4));
  if (dice_.chance(60)) made.key = sha256(dice_.pick({"k1", "k2", "k3"}));
  return made;
}

/// Mostly a step that the call can take.
CallChange Script::move(const SessionSummary& session, const Call& call, std::size_t entries) {
  const bool can_start = call.state == CallState::intended || call.state == CallState::failed;
  if (can_start ? dice_.chance(80) : dice_.chance(15)) {
    return Dispatch{.call = call.position, .deadline = some_time()};
  }
  Settle made{.call = call.position};
  switch (call.state) {
    case CallState::intended:
      made.state = CallState::denied;
      break;
    case CallState::dispatched:
      made.state = static_cast<CallState>(dice_.between(2, 4));
      break;
    case CallState::in_doubt:
      made.state = CallState::abandoned;
      break;
    default:
      break;
  }
  if (dice_.chance(15)) made.state = static_cast<CallState>(dice_.below(8));
  if (dice_.chance(40)) made.result = dice_.between(dice_.below(2), session.next + entries - 1);
  made.who = dice_.pick({"", "ann"});
  made.why = dice_.pick({"", "two\nlines"});
  return made;
}

std::vector<CallChange> Script::calls(const SessionSummary& session, std::size_t entries) {
  const auto known = oracle_.ledger().list({.session = session.id, .states = {}});
  std::vector<CallChange> made;
  for (std::size_t i = 0; i < dice_.between(1, 3); ++i) {
    if (dice_.chance(known->empty() ? 97 : 40)) {
      if (entries == 0 && dice_.chance(80)) continue;
      const Intend intent = intend(session, entries, i);
      made.emplace_back(intent);
      if (dice_.chance(30)) made.emplace_back(Dispatch{.call = intent.call});
    } else {
      Call call{.position = some_position(session.id)};
      if (!known->empty()) call = dice_.pick(*known);
      made.push_back(move(session, call, entries));
    }
  }
  return made;
}

std::vector<MessageId> Script::consumed(const SessionSummary& session) {
  std::vector<MessageId> made;
  const auto pending = oracle_.inbox().list(session.id, 10);
  for (const InboxMessage& one : *pending) {
    if (dice_.chance(60)) made.push_back(one.id);
  }
  if (!messages_.empty() && dice_.chance(10)) made.push_back(dice_.pick(messages_));
  return made;
}

Batch Script::batch(const SessionSummary& session) {
  Batch made{.id = this->made<BatchId>("b")};
  made.expected_head = dice_.chance(95) ? session.head : some_position(session.id);
  if (dice_.chance(15)) made.branch_from = some_point(session.id);
  for (std::uint64_t i = dice_.below(4); i > 0; --i) made.entries.push_back(entry());
  if (dice_.chance(40)) made.calls = calls(session, made.entries.size());
  if (dice_.chance(25)) {
    made.checkpoint = NewCheckpoint{.reason = dice_.pick({"", "turn"}),
                                    .label = dice_.pick({"", "a", "b"}),
                                    .metadata = dice_.pick({"{}", R"({"n":1})", R"({"n":1.0})"})};
  }
  if (dice_.chance(15)) {
    made.status = StatusChange{.status = static_cast<Status>(dice_.below(6)),
                               .wait_reason = dice_.pick({"", "for\nyou"}),
                               .wake_at = some_time()};
  }
  if (dice_.chance(8)) made.annotation = annotation();
  if (dice_.chance(25)) made.consumed = consumed(session);
  if (dice_.chance(5) && sessions_.size() < 10) {
    made.children.push_back(new_session());
    proposed_.push_back(made.children.back().id);
    if (dice_.chance(10)) made.children.push_back({.id = dice_.pick(sessions_)});
  }
  if (dice_.chance(30)) made.sync = Sync::later;
  return made;
}

}  // namespace perdure
