// A letter that counts is followed by its record, in the same commit; only evidence may come between.

#include "verbs/standing.hpp"

#include <fmt/format.h>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/runtime/approval.hpp"
#include "perdure/runtime/call_records.hpp"
#include "perdure/runtime/session.hpp"
#include "perdure/store/entry.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/store.hpp"

namespace perdure::cli {
namespace {

struct Word {
  std::string decision{};
  std::string who{};
  std::string why{};
  Position position = 0;
  std::optional<Json> letter{};  ///< What made it; empty if no letter did.
};

// A long body is a blob; empty: it is damaged, erased or gone.
Result<std::string> text_of(Store& store, const Entry& entry) {
  const auto blob = entry.body.blob();
  if (!blob) return std::string(entry.body.bytes());
  auto text = store.blobs().get(*blob);
  if (text) return text;
  const ErrorCode code = text.error().code;
  if (code == ErrorCode::not_found || code == ErrorCode::corrupted) return std::string();
  return text;
}

bool is_about_calls(const Entry& entry) {
  return entry.channel == "inbox" || entry.channel == "approvals" || entry.channel == "calls";
}

std::optional<Word> word_of(const Entry& entry, const std::string& text, Position call) {
  if (entry.channel == "calls" && entry.kind == "resolution") {
    const auto made = resolution_from_json(text);
    if (!made || made->call != call) return std::nullopt;
    const bool is_retry = made->decision == to_string(Decision::As::retry);
    return Word{is_retry ? "to be made again" : made->decision, made->who, made->why,
                entry.position};
  }
  const bool is_word =
      entry.channel == "approvals" && (entry.kind == "given" || entry.kind == "refused");
  if (!is_word) return std::nullopt;
  const auto made = approval_from_json(entry.kind, text);
  if (!made || made->call != call) return std::nullopt;
  const bool is_given = made->decision == ApprovalDecision::given;
  return Word{is_given ? "approved" : "denied", made->who, made->why, entry.position};
}

Result<std::optional<Word>> last_word(Store& store, const Call& call) {
  std::optional<Word> last;
  std::optional<Json> letter;
  LogQuery query{.from = call.position};
  for (;;) {
    auto page = store.log().read(call.session, query);
    if (!page) return forward(page);
    for (const Entry& entry : *page) {
      auto text = is_about_calls(entry) ? text_of(store, entry) : std::string();
      if (!text) return forward(text);
      if (auto word = word_of(entry, *text, call.position)) {
        last = std::move(word);
        last->letter = std::exchange(letter, std::nullopt);
      } else if (entry.channel == "inbox") {
        auto body = parse_json(*text);
        letter = body ? std::optional(*std::move(body)) : std::nullopt;
      } else if (entry.kind != "evidence") {
        letter.reset();
      }
    }
    if (page->size() < query.limit) return last;
    query.from = page->back().position + 1;
  }
}

std::string words_for(const Call& call, const std::optional<Word>& word) {
  const std::string name =
      fmt::format("{} ({})", call_name(call.session, call.position), call.tool);
  if (!word) return fmt::format("{} is {} meanwhile", name, to_string(call.state));
  return fmt::format("{} is {} meanwhile, by {}{}", name, word->decision, word->who,
                     word->why.empty() ? "" : fmt::format(" ({})", word->why));
}

}  // namespace

Result<void> check_stands(Store& store, const Call& call, Position since,
                          const std::function<bool(const Json& body)>& is_ours) {
  auto word = last_word(store, call);
  if (!word) return forward(word);
  if (*word && (*word)->position > since && (*word)->letter && is_ours(*(*word)->letter)) return {};
  auto now = store.ledger().read(call.session, call.position);
  if (!now) return forward(now);
  return fail(ErrorCode::conflict,
              words_for(*now, *word) + ": that stands, and what you said does not count",
              call_name(call.session, call.position));
}

}  // namespace perdure::cli
