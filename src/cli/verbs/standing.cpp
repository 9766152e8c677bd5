// A letter that counts is followed by its record, in the same commit; only evidence may come between.

#include "verbs/standing.hpp"

#include <cstdint>
#include <fmt/format.h>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "live/call_words.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/calls.hpp"
#include "perdure/runtime/session.hpp"
#include "perdure/store/blobs.hpp"
#include "perdure/store/inbox.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/store.hpp"
#include "runtime/api/records.hpp"

namespace perdure::cli {
namespace {

struct Record {
  CallWord word{};
  Position position = 0;
  std::optional<Json> letter{};  ///< What made it; empty if no letter did.
  bool is_done = false;          ///< The call was made after it.
};

bool is_about_calls(const Entry& entry) {
  return entry.channel == "inbox" || entry.channel == "approvals" || entry.channel == "calls";
}

// Empty: about something else, damaged, erased or gone.
Result<std::string> text_about_calls(Store& store, Entry& entry) {
  if (!is_about_calls(entry)) return std::string();
  if (auto loaded = load_blob(store.blobs(), entry); !loaded) return forward(loaded);
  return entry.condition == Condition::intact ? entry.body.bytes() : std::string();
}

std::optional<CallWord> word_of(const Entry& entry, const std::string& text, const Call& call) {
  if (entry.channel == "calls" && entry.kind == "resolution") {
    const auto made = resolution_from_json(text);
    if (!made || made->call != call.position) return std::nullopt;
    return CallWord{made->decision, made->who, made->why};
  }
  const bool is_word =
      entry.channel == "approvals" && (entry.kind == "given" || entry.kind == "refused");
  if (!is_word) return std::nullopt;
  const auto made = approval_from_json(entry.kind, text);
  if (!made || made->call != call.position) return std::nullopt;
  const std::string_view yes = asks_people(call.tool) ? "answered" : "approved";
  const bool is_given = made->decision == ApprovalDecision::given;
  return CallWord{std::string(is_given ? yes : "denied"), made->who, made->why};
}

bool is_attempt(const Entry& entry, const std::string& text, const Call& call) {
  if (entry.channel != "calls" || entry.kind != "attempt") return false;
  const auto attempt = attempt_from_json(text);
  return attempt && attempt->call == call.position;
}

Result<std::vector<Record>> records_of(Store& store, const Call& call) {
  std::vector<Record> records;
  std::optional<Json> letter;
  LogQuery query{.from = call.position};
  for (;;) {
    auto page = store.log().read(call.session, query);
    if (!page) return forward(page);
    for (Entry& entry : *page) {
      auto text = text_about_calls(store, entry);
      if (!text) return forward(text);
      if (auto word = word_of(entry, *text, call)) {
        records.push_back(
            {*std::move(word), entry.position, std::exchange(letter, std::nullopt), false});
      } else if (entry.channel == "inbox") {
        auto body = parse_json(*text);
        letter = body ? std::optional(*std::move(body)) : std::nullopt;
      } else if (entry.kind != "evidence") {
        letter.reset();
      }
      if (!records.empty() && is_attempt(entry, *text, call)) records.back().is_done = true;
    }
    if (page->size() < query.limit) return records;
    query.from = page->back().position + 1;
  }
}

// Of a letter that waits: whether the call is allowed, and who says so.
std::optional<CallWord> word_in(const InboxMessage& mail, const Call& call) {
  if (mail.kind != "approve" || mail.body.blob()) return std::nullopt;
  const auto body = parse_json(mail.body.bytes());
  const Json* about = body ? body->find("call") : nullptr;
  if (about == nullptr || *about != Json(static_cast<std::int64_t>(call.position))) {
    return std::nullopt;
  }
  const auto text = [&](std::string_view name) {
    const Json* said = body->find(name);
    return said != nullptr && said->is_string() ? *said->as_string() : std::string();
  };
  const Json* allow = body->find("allow");
  const bool is_given = allow != nullptr && *allow == Json(true);
  return CallWord{is_given ? "approved" : "denied", text("who"), text("why")};
}

// The same word twice takes nothing back; an answer is its text.
std::optional<CallWord> overruled(const Record& before, const CallWord& word) {
  const bool is_same = before.word.decision == word.decision &&
                       (word.decision != "answered" || before.word.why == word.why);
  return before.is_done || is_same ? std::nullopt : std::optional(before.word);
}

std::string told(const CallWord& word) {
  const bool is_retry = word.decision == to_string(Decision::As::retry);
  return is_retry ? "to be made again" : word.decision;
}

std::string in_brackets(const CallWord& word) {
  return word.why.empty() ? "" : fmt::format(" ({})", word.why);
}

std::string what_stands(const Call& call, const std::vector<Record>& records) {
  const std::string name =
      fmt::format("{} ({})", call_name(call.session, call.position), call.tool);
  if (records.empty()) return fmt::format("{} is {} meanwhile", name, to_string(call.state));
  const CallWord& word = records.back().word;
  return fmt::format("{} is {} meanwhile, by {}{}", name, told(word), word.who, in_brackets(word));
}

}  // namespace

std::string words_for(const CallWord& word) {
  return fmt::format("{} by {}{}", told(word), word.who, in_brackets(word));
}

Json as_json(const std::optional<CallWord>& word) {
  if (!word) return nullptr;
  return Json::Object{{"decision", word->decision}, {"who", word->who}, {"reason", word->why}};
}

Result<std::optional<CallWord>> find_overruled(Store& store, const Call& call,
                                               const CallWord& word) {
  auto records = records_of(store, call);
  if (!records) return forward(records);
  return records->empty() ? std::nullopt : overruled(records->back(), word);
}

Result<std::optional<CallWord>> find_denial(Store& store, const Call& call) {
  const CallWord yes{.decision = "approved"};
  auto last = find_overruled(store, call, yes);
  if (!last) return last;
  auto mails = store.inbox().list(call.session, limit_max);
  if (!mails) return forward(mails);
  for (const InboxMessage& mail : *mails) {
    if (auto word = word_in(mail, call)) *last = *std::move(word);
  }
  if (*last && (*last)->decision != "denied") last->reset();
  return last;
}

Result<std::optional<CallWord>> check_stands(Store& store, const Call& call, Position since,
                                             const std::function<bool(const Json& body)>& is_ours) {
  auto records = records_of(store, call);
  if (!records) return forward(records);
  if (!records->empty()) {
    const Record& last = records->back();
    if (last.position > since && last.letter && is_ours(*last.letter)) {
      return records->size() == 1 ? std::nullopt
                                  : overruled((*records)[records->size() - 2], last.word);
    }
  }
  auto now = store.ledger().read(call.session, call.position);
  if (!now) return forward(now);
  return fail(ErrorCode::conflict,
              what_stands(*now, *records) + ": that stands, and what you said does not count",
              call_name(call.session, call.position));
}

}  // namespace perdure::cli
