// Paths as text: what they are called, and which patterns fit them. Takes time by the length of
// path times pattern, whatever the pattern.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "perdure/agent/permissions.hpp"
#include "perdure/core/error.hpp"
#include "tools/check/wildcard.hpp"

namespace perdure {
namespace {

std::vector<std::string_view> parts_of(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const std::size_t end = path.find('/');
    const std::string_view part = path.substr(0, end);
    if (!part.empty() && part != ".") parts.push_back(part);
    path = end == std::string_view::npos ? std::string_view() : path.substr(end + 1);
  }
  return parts;
}

}  // namespace

bool fits_wildcard(std::string_view pattern, std::string_view text) {
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;
  std::size_t resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

Result<std::string> plain_path(std::string_view path) {
  if (path.empty()) return fail(ErrorCode::invalid_argument, "a path is empty");
  if (path.find('\0') != std::string_view::npos) {
    return fail(ErrorCode::invalid_argument, "a path has a zero byte");
  }
  std::vector<std::string_view> kept;
  for (const std::string_view part : parts_of(path)) {
    if (part != "..") {
      kept.push_back(part);
    } else if (kept.empty()) {
      return fail(ErrorCode::invalid_argument, "a path leads out of its root");
    } else {
      kept.pop_back();
    }
  }
  const bool is_absolute = path.front() == '/';
  std::string plain;
  for (const std::string_view part : kept) {
    if (!plain.empty() || is_absolute) plain += '/';
    plain += part;
  }
  if (plain.empty()) plain = is_absolute ? "/" : ".";
  return plain;
}

// A row for each part of the pattern: after how many parts of the path it may have been used up.
bool fits_path(std::string_view pattern, std::string_view path) {
  if (pattern.starts_with('/') != path.starts_with('/')) return false;
  const auto wanted = parts_of(pattern);
  const auto given = parts_of(path);
  std::vector<bool> reached(given.size() + 1, false);
  reached[0] = true;
  for (const std::string_view part : wanted) {
    std::vector<bool> next(given.size() + 1, false);
    for (std::size_t i = 0; i <= given.size(); ++i) {
      if (part == "**") {
        next[i] = reached[i] || (i > 0 && next[i - 1]);
      } else if (i > 0) {
        next[i] = reached[i - 1] && fits_wildcard(part, given[i - 1]);
      }
    }
    reached = next;
  }
  return reached.back();
}

bool covers_path(std::string_view pattern, std::string_view path) {
  for (std::size_t end = path.find('/', 1); end != std::string_view::npos;
       end = path.find('/', end + 1)) {
    if (fits_path(pattern, path.substr(0, end))) return true;
  }
  return fits_path(pattern, path);
}

}  // namespace perdure
