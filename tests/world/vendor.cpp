// A vendor that cannot write down what happened stops: it throws, and the server ends.

#include "world/vendor.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "core/api/json_text.hpp"
#include "perdure/core/json.hpp"
#include "world/wire.hpp"

namespace perdure::world {
namespace {

[[noreturn]] void stop(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), "the world's file: " + what);
}

std::string contents_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Alike for every request that the effect answers: also for a repeat, also for verify.
Json answer_of(std::size_t id) { return Json::Object{{"id", id}, {"applied", true}}; }

// As the keys see them: in any order, in any spelling.
bool are_same(const Json& left, const Json& right) {
  const auto first = canonical_json(left);
  const auto second = canonical_json(right);
  return first && second ? *first == *second : left == right;
}

Json answered(Json answer) { return Json::Object{{"answer", std::move(answer)}}; }
Json denied(std::string why) { return Json::Object{{"denied", std::move(why)}}; }

}  // namespace

Vendor::Vendor(const std::string& file)
    : file_(open(file.c_str(), O_CREAT | O_RDWR | O_APPEND | O_CLOEXEC, 0600)) {
  if (file_ < 0) stop("cannot be opened");
  const std::string text = contents_of(file);
  const std::size_t whole = text.rfind('\n') + 1;  // npos + 1 is 0: not one whole line.
  if (ftruncate(file_, static_cast<off_t>(whole)) != 0) stop("cannot be mended");
  std::string_view rest = std::string_view(text).substr(0, whole);
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    const auto row = parse_json(rest.substr(0, end));
    if (!row) throw std::runtime_error("the world's file is damaged: " + row.error().message);
    fold(*row);
    rest.remove_prefix(end + 1);
  }
}

Vendor::~Vendor() { close(file_); }

void Vendor::append(const Json& row) {
  const std::string line = row.text() + "\n";
  const ssize_t size = write(file_, line.data(), line.size());
  if (size != static_cast<ssize_t>(line.size())) stop("cannot be written");
  if (fdatasync(file_) != 0) stop("cannot be synced");
  fold(row);
}

void Vendor::fold(const Json& row) {
  const std::string kind = text_of(row, "row");
  const std::string op = text_of(row, "op");
  const std::string key = text_of(row, "key");
  if (kind == "request") {
    tally_for(op).requests.push_back(key);
  } else if (kind == "effect") {
    const Json* const args = row.find("args");
    effects_.push_back({.op = op, .key = key, .args = args == nullptr ? Json() : *args});
    if (!key.empty()) keys_.emplace(key, effects_.size());
    tally_for(op).effects.push_back(key);
  } else if (kind == "forgot") {
    keys_.clear();
  } else {
    throw std::runtime_error("the world's file has a row of no known kind: " + row.text());
  }
}

void Vendor::note(const Json& request) {
  append(Json::Object{{"row", "request"},
                      {"op", text_of(request, "op")},
                      {"key", text_of(request, "key")},
                      {"tool", text_of(request, "tool")}});
}

Json Vendor::serve(const Json& request) {
  const std::string what = text_of(request, "request");
  if (what == "effect") return apply(request);
  if (what == "verify") return verdict_on(request);
  const std::string op = text_of(request, "op");
  return answered(Json::Object{{"op", op}, {"effects", tally(op).effects.size()}});
}

Json Vendor::apply(const Json& request) {
  const std::string key = text_of(request, "key");
  const Json* const given = request.find("args");
  const Json args = given == nullptr ? Json() : *given;
  const auto known = keys_.find(key);
  if (flag_of(request, "honours_key") && known != keys_.end()) {
    return are_same(effects_[known->second - 1].args, args)
               ? answered(answer_of(known->second))
               : denied("key " + key + " was used with other arguments");
  }
  append(Json::Object{{"row", "effect"},
                      {"id", effects_.size() + 1},
                      {"op", text_of(request, "op")},
                      {"key", key},
                      {"tool", text_of(request, "tool")},
                      {"args", args}});
  return answered(answer_of(effects_.size()));
}

Json Vendor::verdict_on(const Json& request) const {
  const std::string op = text_of(request, "op");
  const std::string key = text_of(request, "key");
  const auto found = std::ranges::find_if(effects_, [&](const Effect& effect) {
    return op.empty() ? effect.key == key : effect.op == op;
  });
  if (found == effects_.end()) return answered(Json::Object{{"landed", false}});
  const auto id = static_cast<std::size_t>(found - effects_.begin()) + 1;
  return answered(Json::Object{{"landed", true}, {"answer", answer_of(id)}});
}

void Vendor::forget_keys() { append(Json::Object{{"row", "forgot"}}); }

Tally& Vendor::tally_for(const std::string& op) {
  const auto found = std::ranges::find(tallies_, op, &Tally::op);
  if (found != tallies_.end()) return *found;
  return tallies_.emplace_back(Tally{.op = op});
}

Tally Vendor::tally(const std::string& op) const {
  const auto found = std::ranges::find(tallies_, op, &Tally::op);
  return found == tallies_.end() ? Tally{.op = op} : *found;
}

}  // namespace perdure::world
