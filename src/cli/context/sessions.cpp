// A whole id comes first, then @last, then beginnings of ids, then titles. Only a search for a title goes
// through the list of sessions, which has no payload. A filter is a list of tests that all must pass.

#include "context/sessions.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fnmatch.h>
#include <limits>
#include <ranges>
#include <system_error>

#include "context/agent_source.hpp"
#include "context/command_context.hpp"
#include "core/api/text.hpp"
#include "core/api/wording.hpp"
#include "runtime/api/read.hpp"

namespace perdure::cli {
namespace {

constexpr std::size_t beginning_least = 4;
constexpr std::size_t candidates_shown = 8;
constexpr std::size_t search_page = 1000;

using Candidates = std::vector<SessionSummary>;

// The first so many sessions that fit.
Result<Candidates> search(Store& store, SessionQuery query, std::size_t most,
                          const std::function<bool(const SessionSummary&)>& fits) {
  Candidates found;
  bool is_damaged = false;
  query.limit = search_page;
  do {
    auto page = store.sessions().list(query);
    if (!page) return forward(page);
    is_damaged = is_damaged || page->is_damaged;
    for (SessionSummary& row : page->sessions) {
      if (fits(row)) found.push_back(std::move(row));
      if (found.size() == most) return found;
    }
    query.cursor = page->next;
  } while (!query.cursor.empty());
  // What was not found may be among what cannot be read.
  if (found.empty() && is_damaged) {
    return fail(ErrorCode::corrupted,
                "the list of sessions is damaged, and none that can be read fits: perdure check "
                "says where, perdure salvage saves what is left");
  }
  return found;
}

Result<Candidates> candidates_of(Store& store, const std::string& text) {
  if (text == "@last") {
    return search(store, {}, 1, [](const SessionSummary& row) {
      return !row.parent || row.parent->lineage != Lineage::child;
    });
  }
  if (text.size() >= beginning_least && is_utf8(text)) {
    auto found = search(store, {.id_prefix = text}, candidates_shown + 1,
                        [](const SessionSummary& /*row*/) { return true; });
    const bool is_found = found && !found->empty();
    const bool is_damaged = !found && found.error().code == ErrorCode::corrupted;
    if (is_found || (!found && !is_damaged)) return found;
  }
  return search(store, {.contains = text}, candidates_shown + 1,
                [&](const SessionSummary& row) { return row.title == text; });
}

// Whether it can only mean a point: "head", "v3", "2", "2.1". What it cannot be may belong to a title.
bool is_point_word(std::string_view word) {
  if (word == "head") return true;
  return number_from(word.substr(word.starts_with('v') ? 1 : 0, word.find('.'))).has_value();
}

Result<PlaceInSession> find_turn(Store& store, PlaceInSession place, std::string_view word) {
  const auto dot = word.find('.');
  const auto turn = number_from(word.substr(0, dot));
  std::optional<std::int64_t> step;
  if (dot != std::string_view::npos) step = number_from(word.substr(dot + 1));
  if (!turn || *turn == 0 || (dot != std::string_view::npos && !step)) {
    return misuse(
        fmt::format("@{} is not a point: write @v3 (a version), @2 (after turn 2), @2.1 (after "
                    "step 1 of it) or @head",
                    word));
  }
  auto position = find_step(store, place.session.id, *turn, step);
  if (!position) return forward(position);
  place.point = Point::position(*position);
  return place;
}

std::vector<std::string> split_words(const std::string& line) {
  std::vector<std::string> words(1);
  bool is_quoted = false;
  for (const char letter : line) {
    if (letter == '"') {
      is_quoted = !is_quoted;
    } else if (letter == ' ' && !is_quoted) {
      words.emplace_back();
    } else {
      words.back() += letter;
    }
  }
  std::erase(words, "");
  return words;
}

std::unexpected<Error> bad_word(const std::string& word, std::string_view wanted) {
  return misuse(fmt::format("the filter {} makes no sense: {}", word, wanted));
}

std::optional<double> amount_from(std::string_view text) {
  double amount = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, amount);
  if (error != std::errc() || rest != end || !std::isfinite(amount)) return std::nullopt;
  return amount;
}

// What is compared by < and >.
struct Measure {
  std::string_view key;
  double (*of)(const SessionSummary& row, Timestamp now);
  bool is_time = false;
};

constexpr std::array<Measure, 6> measures = {{
    {"tokens",
     [](const SessionSummary& row, Timestamp) {
       return static_cast<double>(row.tally.tokens_in + row.tally.tokens_out);
     }},
    {"cost", [](const SessionSummary& row,
                Timestamp) { return static_cast<double>(row.tally.cost_micros) / 1e6; }},
    {"turns",
     [](const SessionSummary& row, Timestamp) { return static_cast<double>(row.tally.turns); }},
    {"steps",
     [](const SessionSummary& row, Timestamp) { return static_cast<double>(row.tally.steps); }},
    {"active",
     [](const SessionSummary& row, Timestamp now) {
       return static_cast<double>((now - row.updated_at).count());
     },
     true},
    {"age",
     [](const SessionSummary& row, Timestamp now) {
       return static_cast<double>((now - row.created_at).count());
     },
     true},
}};

Result<SessionTest> measure_test(const std::string& word, const Measure& measure,
                                 std::string_view value, Timestamp now) {
  const bool is_bound = value.starts_with('<') || value.starts_with('>');
  std::optional<double> limit;
  if (is_bound && !measure.is_time) limit = amount_from(value.substr(1));
  if (is_bound && measure.is_time) {
    const auto span = span_from(value.substr(1));
    if (span) limit = static_cast<double>(span->count());
  }
  if (!limit) {
    return bad_word(word, measure.is_time
                              ? "write a time after < or >, as in active:<2h (s, m, h, d, w)"
                              : "write a number after < or >, as in tokens:>20000");
  }
  return [=, of = measure.of, is_above = value.front() == '>',
          limit = *limit](const SessionSummary& row) {
    return is_above ? of(row, now) > limit : of(row, now) < limit;
  };
}

std::string agent_of(const SessionSummary& row) {
  const auto source = source_in(row.metadata);
  if (!source) return {};
  return source->file.empty() ? source->model : std::filesystem::path(source->file).stem().string();
}

Result<SessionTest> keyed_test(const std::string& word, std::string_view key,
                               const std::string& value, Timestamp now) {
  if (key == "state") {
    const auto standing = shown_state_from(value);
    if (!standing) {
      return bad_word(word,
                      "a state is active, waiting, paused, completed, failed, cancelled, ready, "
                      "interrupted, needs_attention or moved");
    }
    return [standing](const SessionSummary& row) { return shown_state(row) == *standing; };
  }
  if (key == "tag" || key == "title" || key == "agent") {
    return [=, key = std::string(key)](const SessionSummary& row) {
      const std::vector<std::string> texts =
          key == "tag" ? row.tags : std::vector{key == "title" ? row.title : agent_of(row)};
      return std::ranges::any_of(texts, [&](const std::string& text) {
        return ::fnmatch(value.c_str(), text.c_str(), 0) == 0;
      });
    };
  }
  const auto measure = std::ranges::find(measures, key, &Measure::key);
  if (measure != measures.end()) return measure_test(word, *measure, value, now);
  return bad_word(
      word, "the keys are state, tag, title, agent, tokens, cost, turns, steps, active and age");
}

Result<SessionTest> word_test(const std::string& word, Timestamp now) {
  const bool is_not = word.size() > 1 && word.front() == '-';
  const std::string plain = is_not ? word.substr(1) : word;
  const auto colon = plain.find(':');
  const bool is_keyed = colon != std::string::npos && plain.find(' ') == std::string::npos;
  Result<SessionTest> test = [text = lowered(plain)](const SessionSummary& row) {
    return lowered(row.title).contains(text) || lowered(row.opening).contains(text);
  };
  if (is_keyed) test = keyed_test(word, plain.substr(0, colon), plain.substr(colon + 1), now);
  if (!test || !is_not) return test;
  return [inner = *std::move(test)](const SessionSummary& row) { return !inner(row); };
}

}  // namespace

Result<SessionSummary> find_session(Store& store, const std::string& text) {
  // The title of all that have none: a script whose variable is empty must not hit one of them.
  if (text.empty()) {
    return misuse("which session? an empty word names none; perdure sessions lists them");
  }
  if (const auto id = SessionId::parse(text)) {
    auto row = store.sessions().read(*id);
    if (row || row.error().code != ErrorCode::not_found) return row;
  }
  auto found = candidates_of(store, text);
  if (!found) return forward(found);
  if (found->size() == 1) return std::move(found->front());
  if (found->empty()) {
    const bool is_short = text.size() < beginning_least;
    return fail(ErrorCode::not_found,
                fmt::format("there is no session {}{}; perdure sessions lists them", text,
                            is_short ? " (the beginning of an id has at least 4 characters)" : ""));
  }
  std::string message = fmt::format("{} may mean several sessions:", text);
  for (std::size_t i = 0; i < found->size() && i < candidates_shown; ++i) {
    const SessionSummary& row = (*found)[i];
    message += fmt::format("\n  {}  {}", row.id.text(), title_of(row));
  }
  if (found->size() > candidates_shown) message += "\n  and more";
  return fail(ErrorCode::not_found, message);
}

Result<std::vector<SessionSummary>> all_sessions(Store& store) {
  return search(store, {}, std::numeric_limits<std::size_t>::max(),
                [](const SessionSummary& /*row*/) { return true; });
}

Result<PlaceInSession> find_point(Store& store, const std::string& text) {
  // An id or a title may hold an "@" of its own.
  const auto at = text.rfind('@');
  const bool is_whole =
      at == std::string::npos || text == "@last" || text.ends_with("@last") ||
      store.sessions().read(SessionId::parse(text).value_or(SessionId())).has_value() ||
      (!is_point_word(std::string_view(text).substr(at + 1)) && find_session(store, text));
  const std::string_view word = is_whole ? "head" : std::string_view(text).substr(at + 1);
  auto session = find_session(store, is_whole ? text : text.substr(0, at));
  if (!session) return forward(session);
  PlaceInSession place{.session = *std::move(session), .is_whole = is_whole};
  place.name = fmt::format("{}@{}", place.session.id.text(), word);
  if (word == "head") return place;
  if (!word.starts_with('v')) return find_turn(store, std::move(place), word);
  const auto version = number_from(word.substr(1));
  if (!version) {
    return misuse(fmt::format("@{} is not a version: write @v3", word));
  }
  place.version = static_cast<Version>(*version);
  place.point = Point::version(*place.version);
  auto checkpoint = store.log().read_checkpoint(place.session.id, *place.version);
  if (!checkpoint) return forward(checkpoint);
  return place;
}

Result<SessionTest> filter_from(const std::vector<std::string>& arguments, Timestamp now) {
  std::vector<SessionTest> tests;
  for (const std::string& argument : arguments) {
    for (const std::string& word : split_words(argument)) {
      auto test = word_test(word, now);
      if (!test) return forward(test);
      tests.push_back(*std::move(test));
    }
  }
  return [tests = std::move(tests)](const SessionSummary& row) {
    return std::ranges::all_of(tests, [&](const SessionTest& test) { return test(row); });
  };
}

std::unexpected<Error> with_hint_of_relatives(Error error, bool is_asked_for) {
  const bool lacks_one = error.code == ErrorCode::conflict && SessionId::parse(error.subject);
  if (lacks_one && !is_asked_for) error.message += ". --with-relatives takes them along";
  return std::unexpected(std::move(error));
}

RunVerb on_session(SessionVerb run) {
  return on_store([run = std::move(run)](CommandContext& context, Store& store) -> Result<Exit> {
    auto row = find_session(store, context.given().arguments.front());
    if (!row) return forward(row);
    return run(context, store, *row);
  });
}

RunVerb on_point(PointVerb run) {
  return on_store([run = std::move(run)](CommandContext& context, Store& store) -> Result<Exit> {
    auto place = find_point(store, context.given().arguments.front());
    if (!place) return forward(place);
    return run(context, store, *place);
  });
}

Result<std::vector<SessionSummary>> named_sessions(CommandContext& context, Store& store,
                                                   std::size_t first) {
  std::vector<SessionSummary> rows;
  for (const std::string& name : context.given().arguments | std::views::drop(first)) {
    auto row = find_session(store, name);
    if (!row) return forward(row);
    rows.push_back(*std::move(row));
  }
  return rows;
}

Result<Exit> annotate_session(CommandContext& context, Store& store, const SessionId& id,
                              const Annotation& part) {
  auto changed = store.sessions().annotate(id, part);
  if (!changed) return forward(changed);
  context.output().document("perdure.renamed/1", {{"session", as_json(*changed)}});
  const std::string tags = fmt::format("{}", fmt::join(changed->tags, ", "));
  context.screen().line(fmt::format("{}  {}{}", changed->id.text(), changed->title,
                                    tags.empty() ? "" : fmt::format("  [{}]", tags)));
  return Exit::done;
}

}  // namespace perdure::cli
