// Words for values come from contract/describe.hpp where a value has no fields to grow.

#include "upgrade/tale.hpp"

#include <fmt/format.h>
#include <set>

#include "contract/describe.hpp"
#include "store/api/lookup.hpp"

namespace perdure {
namespace {

constexpr int tale_batches_max = 60;

std::string tale_told(const std::optional<Position>& value) {
  return value ? std::to_string(*value) : "none";
}

std::string tale_told(const std::optional<Digest>& value) {
  return value ? to_hex(*value) : "none";
}

std::string tale_told(const Tally& value) {
  return fmt::format("{}/{}/{}/{}/{}", value.turns, value.steps, value.tokens_in, value.tokens_out,
                     value.cost_micros);
}

std::string tale_told(const std::optional<Holder>& value) {
  if (!value) return "nobody";
  return fmt::format("{} host={} pid={} since={} fence={} {}", value->worker.text(),
                     describe(value->host), value->pid, describe(value->since), value->fence,
                     value->alive ? "alive" : "dead");
}

std::string tale_told(const std::optional<Parent>& value) {
  if (!value) return "none";
  return fmt::format("{} of {}@{}", value->lineage == Lineage::fork ? "fork" : "child",
                     value->session.text(), value->position);
}

std::string tale_told(const SessionSummary& value) {
  std::string tags;
  for (const auto& tag : value.tags) tags += describe(tag) + " ";
  return fmt::format(
      "session {} title={} opening={} tags={}metadata={} status={} wait_reason={} wake_at={} "
      "parent={} holder={} head={} next={} version={} tally={} attention={} revision={} "
      "created_at={} updated_at={}",
      value.id.text(), describe(value.title), describe(value.opening), tags,
      describe(value.metadata), describe(value.status), describe(value.wait_reason),
      describe(value.wake_at), tale_told(value.parent), tale_told(value.holder), value.head,
      value.next, value.version, tale_told(value.tally), value.attention, value.revision,
      describe(value.created_at), describe(value.updated_at));
}

std::string tale_told(const Entry& value) {
  return fmt::format("#{} segment={} {}/{} {} body={} hash={} tally={} at={} {}", value.position,
                     value.segment, describe(value.channel), describe(value.kind),
                     value.fold == Fold::append ? "append" : "replace", describe(value.body),
                     to_hex(value.hash), tale_told(value.tally), describe(value.at),
                     value.condition == Condition::intact ? "intact" : "NOT INTACT");
}

std::string tale_told(const Checkpoint& value) {
  return fmt::format("v{} #{} at={} reason={} label={} metadata={} tally={}", value.version,
                     value.position, describe(value.at), describe(value.reason),
                     describe(value.label), describe(value.metadata), tale_told(value.tally));
}

std::string tale_told(const Segment& value) {
  return fmt::format("segment {} of {} first={} parent={}@{}", value.id, value.session.text(),
                     value.first, tale_told(value.parent), value.parent_position);
}

std::string tale_told(const Receipt& value) {
  return fmt::format("first={} count={} head={} version={} at={} chain={}", value.first,
                     value.count, value.head, tale_told(value.version), describe(value.at),
                     to_hex(value.chain));
}

std::string tale_told(const Call& value) {
  return fmt::format(
      "{}:{} args={} result={} tool={} provider_id={} effect={} key={} claimed={} state={} "
      "attempts={} "
      "failures={} fence={} intended_at={} dispatched_at={} deadline={} settled_at={} who={} "
      "why={}",
      value.session.text(), value.position, value.args, tale_told(value.result),
      describe(value.tool), describe(value.provider_id), to_string(value.effect),
      tale_told(value.key), tale_told(value.claimed), describe(value.state), value.attempts,
      value.failures, value.fence, describe(value.intended_at), describe(value.dispatched_at),
      describe(value.deadline), describe(value.settled_at), describe(value.who),
      describe(value.why));
}

std::string tale_told(const InboxMessage& value) {
  return fmt::format("{} kind={} body={} at={}", value.id.text(), describe(value.kind),
                     describe(value.body), describe(value.at));
}

class Tale {
 public:
  explicit Tale(Store& store) : store_(store) {}

  std::string all() {
    line(0, "incarnation " + store_.info().incarnation);
    SessionQuery query;
    query.sort = SessionSort::created;
    query.descending = false;
    query.limit = limit_max;
    const auto page = store_.sessions().list(query);
    if (!page) return describe(page.error());
    for (const SessionSummary& session : page->sessions) add(session);
    add_due();
    add_calls();
    for (const std::string name : {"printer", "mailbox"}) {
      const auto holder = store_.lookup().find_resource(name);
      line(0, "resource " + name + " held by " +
                  (holder ? tale_told(*holder) : describe(holder.error())));
    }
    return std::move(text_);
  }

 private:
  void line(std::size_t indent, const std::string& text) {
    text_ += std::string(indent, ' ') + text + "\n";
  }

  template <class T>
  void list(const std::string& what, const Result<std::vector<T>>& found) {
    line(2, what + (found ? "" : " " + describe(found.error())));
    if (!found) return;
    for (const T& one : *found) line(4, tale_told(one));
  }

  void add(const SessionSummary& session) {
    line(0, tale_told(session));
    list("line", store_.lookup().line(session.id, Point::head()));
    add_log(session);
    list("checkpoints", store_.log().checkpoints(session.id, {}));
    for (Version version = 1; version <= session.version; ++version) {
      list(fmt::format("line to v{}", version),
           store_.lookup().line(session.id, Point::version(version)));
    }
    add_value(session);
    add_messages(session);
    add_receipts(session);
  }

  void add_log(const SessionSummary& session) {
    list("log", store_.log().read(session.id, {}));
    // Also what lies on lines that a branch has left.
    for (Position position = 1; position < session.next; ++position) {
      LogQuery query;
      query.as_of = Point::position(position);
      query.from = position;
      const auto found = store_.log().read(session.id, query);
      list(fmt::format("at {}", position), found);
      for (const Entry& entry : found.value_or(std::vector<Entry>())) add_blob(entry.body);
    }
  }

  void add_value(const SessionSummary& session) {
    const auto plan = store_.log().find_value(session.id, "plan", Point::head());
    if (!plan) return line(2, "plan " + describe(plan.error()));
    line(2, "plan " + (*plan ? tale_told(**plan) : "none"));
  }

  void add_messages(const SessionSummary& session) {
    const auto messages = store_.inbox().list(session.id, limit_max);
    list("inbox", messages);
    for (const InboxMessage& message : messages.value_or(std::vector<InboxMessage>()))
      add_blob(message.body);
  }

  void add_blob(const Body& body) {
    const auto ref = body.blob();
    if (!ref) return;
    const auto bytes = store_.blobs().get(*ref);
    line(6, fmt::format("blob of {} bytes {}", ref->size,
                        bytes ? to_hex(sha256(*bytes)) : describe(bytes.error())));
  }

  void add_receipts(const SessionSummary& session) {
    for (int number = 1; number <= tale_batches_max; ++number) {
      const auto batch = BatchId::parse(fmt::format("b{}", number)).value();
      const auto receipt = store_.lookup().find_receipt(session.id, batch);
      if (!receipt) return line(2, "receipts " + describe(receipt.error()));
      if (*receipt) line(2, "receipt " + batch.text() + " " + tale_told(**receipt));
    }
  }

  void add_due() {
    const auto due = store_.sessions().due(limit_max);
    if (!due) return line(0, "due " + describe(due.error()));
    std::string names;
    for (const SessionSummary& session : *due) names += " " + session.id.text();
    line(0, "due" + names);
  }

  void add_calls() {
    const auto calls = store_.ledger().list({});
    list("calls", calls);
    std::set<Digest> keys;
    for (const Call& call : calls.value_or(std::vector<Call>())) {
      if (call.key) keys.insert(*call.key);
    }
    for (const Digest& key : keys) {
      const auto holder = store_.ledger().find_holder(key);
      line(2, fmt::format("key {} held by {}", to_hex(key),
                          !holder   ? describe(holder.error())
                          : *holder ? call_name((*holder)->session, (*holder)->position)
                                    : "nobody"));
      list("ever under it", store_.lookup().by_key(key));
    }
  }

  Store& store_;
  std::string text_;
};

}  // namespace

std::string tell(Store& store) { return Tale(store).all(); }

}  // namespace perdure
