// Each word becomes a test of a session's row; a row that passes all of them is shown.

#include "place/filter.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fmt/format.h>
#include <fnmatch.h>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "live/agent_source.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/time.hpp"
#include "perdure/store/sessions.hpp"
#include "screen/text.hpp"
#include "screen/words.hpp"

namespace perdure::cli {
namespace {

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
  return fail(ErrorCode::invalid_argument,
              fmt::format("the filter {} makes no sense: {}", word, wanted));
}

struct Bound {
  bool is_above = false;
  std::string_view limit;
};

std::optional<Bound> bound_from(std::string_view value) {
  if (value.size() < 2 || (value.front() != '<' && value.front() != '>')) return std::nullopt;
  return Bound{.is_above = value.front() == '>', .limit = value.substr(1)};
}

std::optional<double> amount_from(std::string_view text) {
  double amount = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, amount);
  if (error != std::errc() || rest != end || !std::isfinite(amount)) return std::nullopt;
  return amount;
}

using Amount = double (*)(const SessionSummary&);

Amount amount_named(std::string_view key) {
  if (key == "tokens") {
    return [](const SessionSummary& row) {
      return static_cast<double>(row.tally.tokens_in + row.tally.tokens_out);
    };
  }
  if (key == "cost") {
    return
        [](const SessionSummary& row) { return static_cast<double>(row.tally.cost_micros) / 1e6; };
  }
  if (key == "turns")
    return [](const SessionSummary& row) { return static_cast<double>(row.tally.turns); };
  if (key == "steps")
    return [](const SessionSummary& row) { return static_cast<double>(row.tally.steps); };
  return nullptr;
}

Result<SessionTest> amount_test(const std::string& word, Amount amount, std::string_view value) {
  const auto bound = bound_from(value);
  const auto limit = bound ? amount_from(bound->limit) : std::nullopt;
  if (!limit) return bad_word(word, "write a number after < or >, as in tokens:>20000");
  return [amount, limit = *limit, is_above = bound->is_above](const SessionSummary& row) {
    return is_above ? amount(row) > limit : amount(row) < limit;
  };
}

Result<SessionTest> age_test(const std::string& word, bool of_change, std::string_view value,
                             Timestamp now) {
  const auto bound = bound_from(value);
  const auto limit = bound ? span_from(bound->limit) : std::nullopt;
  if (!limit) return bad_word(word, "write a time after < or >, as in active:<2h (s, m, h, d, w)");
  return [=, limit = *limit, is_above = bound->is_above](const SessionSummary& row) {
    const Duration age = now - (of_change ? row.updated_at : row.created_at);
    return is_above ? age > limit : age < limit;
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
    const auto standing = standing_from(value);
    if (!standing) {
      return bad_word(word,
                      "a state is active, waiting, paused, completed, failed, cancelled, "
                      "ready, interrupted, needs_attention or moved");
    }
    return [standing](const SessionSummary& row) { return standing_of(row) == *standing; };
  }
  if (key == "tag") {
    return [value](const SessionSummary& row) {
      return std::ranges::any_of(row.tags, [&](const std::string& tag) {
        return ::fnmatch(value.c_str(), tag.c_str(), 0) == 0;
      });
    };
  }
  if (key == "title") {
    return [value](const SessionSummary& row) {
      return ::fnmatch(value.c_str(), row.title.c_str(), 0) == 0;
    };
  }
  if (key == "agent") {
    return [value](const SessionSummary& row) {
      return ::fnmatch(value.c_str(), agent_of(row).c_str(), 0) == 0;
    };
  }
  if (key == "active" || key == "age") return age_test(word, key == "active", value, now);
  if (const Amount amount = amount_named(key)) return amount_test(word, amount, value);
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

}  // namespace perdure::cli
