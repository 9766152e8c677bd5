// Times are RFC 3339 in UTC, money is millionths of a dollar, what is not known is null.

#include "verbs/as_json.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/api/text.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/sha256.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/body.hpp"
#include "perdure/store/entry.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/ownership.hpp"
#include "perdure/store/sessions.hpp"
#include "screen/words.hpp"

namespace perdure::cli {
namespace {

Json holder_json(const std::optional<Holder>& holder) {
  if (!holder) return nullptr;
  return Json::Object{
      {"worker", holder->worker.text()},    {"host", holder->host},   {"pid", holder->pid},
      {"since", to_iso8601(holder->since)}, {"fence", holder->fence}, {"alive", holder->alive}};
}

Json parent_json(const std::optional<Parent>& parent) {
  if (!parent) return nullptr;
  return Json::Object{{"session", parent->session.text()},
                      {"position", parent->position},
                      {"lineage", parent->lineage == Lineage::fork ? "fork" : "child"}};
}

Json text_list(const std::vector<std::string>& texts) {
  Json::Array list;
  for (const std::string& text : texts) list.emplace_back(text);
  return list;
}

Json object_from(const std::string& text) {
  auto read = parse_json(text);
  return read ? *std::move(read) : Json(text);
}

}  // namespace

Json as_json(const std::optional<Timestamp>& time) {
  return time ? Json(to_iso8601(*time)) : Json(nullptr);
}

Json as_json(const Tally& tally) {
  return Json::Object{{"turns", tally.turns},
                      {"steps", tally.steps},
                      {"tokens_in", tally.tokens_in},
                      {"tokens_out", tally.tokens_out},
                      {"cost_micros", tally.cost_micros}};
}

Json as_json(const Tally& tally, bool is_cost_known) {
  Json made = as_json(tally);
  made.set("is_cost_known", is_cost_known);
  return made;
}

Json as_json(const SessionSummary& row) {
  return Json::Object{{"id", row.id.text()},
                      {"title", row.title},
                      {"opening", row.opening},
                      {"state", to_string(standing_of(row))},
                      {"status", to_string(row.status)},
                      {"wait_reason", row.wait_reason},
                      {"wake_at", as_json(row.wake_at)},
                      {"in_doubt", row.attention},
                      {"restored", row.restored},
                      {"tags", text_list(row.tags)},
                      {"metadata", object_from(row.metadata)},
                      {"parent", parent_json(row.parent)},
                      {"holder", holder_json(row.holder)},
                      {"head", row.head},
                      {"version", row.version},
                      {"totals", as_json(row.tally)},
                      {"moved_to", row.moved_to},
                      {"created_at", to_iso8601(row.created_at)},
                      {"updated_at", to_iso8601(row.updated_at)}};
}

Json as_json(const Call& call) {
  return Json::Object{{"call", call_name(call.session, call.position)},
                      {"session", call.session.text()},
                      {"position", call.position},
                      {"tool", call.tool},
                      {"effect", to_string(call.effect)},
                      {"state", to_string(call.state)},
                      {"attempts", call.attempts},
                      {"key", call.key ? Json(to_hex(*call.key)) : Json(nullptr)},
                      {"intended_at", to_iso8601(call.intended_at)},
                      {"dispatched_at", as_json(call.dispatched_at)},
                      {"settled_at", as_json(call.settled_at)},
                      {"who", call.who},
                      {"why", call.why}};
}

Json as_json(const Checkpoint& checkpoint) {
  return Json::Object{
      {"version", checkpoint.version},      {"position", checkpoint.position},
      {"at", to_iso8601(checkpoint.at)},    {"reason", checkpoint.reason},
      {"label", checkpoint.label},          {"metadata", object_from(checkpoint.metadata)},
      {"totals", as_json(checkpoint.tally)}};
}

Json as_json(const Entry& entry) {
  Json::Object made = {{"position", entry.position},
                       {"at", to_iso8601(entry.at)},
                       {"channel", entry.channel},
                       {"kind", entry.kind},
                       {"fold", entry.fold == Fold::append ? "append" : "replace"},
                       {"hash", to_hex(entry.hash)}};
  if (entry.condition != Condition::intact) {
    made.emplace_back("condition", entry.condition == Condition::erased ? "erased" : "damaged");
  } else if (const auto blob = entry.body.blob()) {
    made.emplace_back("blob", Json::Object{{"digest", to_hex(blob->digest)}, {"size", blob->size}});
  } else if (entry.body.codec() == Codec::json) {
    made.emplace_back("body", object_from(entry.body.bytes()));
  } else {
    made.emplace_back("bytes", to_base64(entry.body.bytes()));
  }
  return made;
}

}  // namespace perdure::cli
