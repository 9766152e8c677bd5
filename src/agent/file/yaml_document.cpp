// yaml-cpp's events, not its nodes: nodes have lost whether a word was quoted, keep doubled keys
// silently, and share what an alias names.

#include "file/yaml_document.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>
#include <yaml-cpp/anchor.h>
#include <yaml-cpp/emitterstyle.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include "core/api/json_text.hpp"
#include "core/api/wording.hpp"
#include "perdure/core/json.hpp"
#include "text/pattern.hpp"

namespace perdure::agent_file {
namespace {

bool is_disputed_name(std::string_view word) {
  static constexpr std::array<std::string_view, 9> names = {"y",   "n",    "yes",   "no",  "on",
                                                            "off", "true", "false", "null"};
  return std::ranges::find(names, lowered(word)) != names.end();
}

// Signed, octal, hexadecimal, binary, with underscores, base 60, exponents, bare points,
// infinities.
bool is_disputed_number(std::string_view word) {
  constexpr std::size_t number_bytes_max = 64;
  if (word.size() > number_bytes_max) return false;
  static const schema::Pattern shape = *schema::Pattern::compile(
      R"(^(?:\+?[-+]?(0[0-9_]+(\.[0-9_]*)?|[0-9][0-9_]*_[0-9_.]*|0o[0-7_]+|0[xX][0-9a-fA-F_]+|0[bB][01_]+)"
      R"(|[1-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?|[0-9][0-9_]*(\.[0-9_]*)?[eE][-+]?[0-9]+)"
      R"(|\.[0-9][0-9_]*([eE][-+]?[0-9]+)?|[0-9][0-9_]*\.|\.(inf|Inf|INF|nan|NaN|NAN)))"
      R"(|\+[0-9][0-9_]*(\.[0-9_]*)?)$)");
  return shape.find_in(word) == schema::Match::yes;
}

}  // namespace

std::optional<Json> plain_scalar(std::string_view word) {
  if (word.empty() || word == "~" || word == "null") return Json();
  if (word == "true" || word == "false") return Json(word == "true");
  if (is_disputed_name(word) || is_disputed_number(word)) return std::nullopt;
  const bool is_decimal = word.find_first_not_of("-.0123456789") == std::string_view::npos;
  if (is_decimal) {
    if (auto number = Json::number(std::string(word))) return *number;
  }
  return Json(word);
}

namespace {

// yaml-cpp counts bytes, people count letters.
class Lines {
 public:
  explicit Lines(std::string_view text) {
    for (std::size_t begin = 0; begin <= text.size();) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      lines_.push_back(text.substr(begin, end - begin));
      begin = end + 1;
    }
  }

  [[nodiscard]] Position position(const YAML::Mark& mark) const {
    if (mark.is_null() || mark.line < 0 || mark.column < 0) return {};
    const auto line = static_cast<std::size_t>(mark.line);
    if (line >= lines_.size()) return {.line = lines_.size(), .column = 1};
    const std::string_view before = lines_[line].substr(0, static_cast<std::size_t>(mark.column));
    const auto letters = std::ranges::count_if(
        before, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; });
    return {.line = line + 1, .column = static_cast<std::size_t>(letters) + 1};
  }

 private:
  std::vector<std::string_view> lines_;
};

struct Key {
  std::string text{};
  Position at{};
};

// A mapping or a sequence that is being read.
struct Open {
  bool is_map = false;
  Position at{};
  std::optional<Key> key{};  // Read, and its value is not.
  std::map<std::string, Position> keys{};
  Json::Object members{};
  Json::Array elements{};
  std::vector<Place> children{};
};

class Builder : public YAML::EventHandler {
 public:
  explicit Builder(const Lines& lines) : lines_(lines) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ == 2) found(lines_.position(mark), "a second document; one file is one agent");
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    refuse_anchor(mark, anchor);
    scalar(lines_.position(mark), "", true);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    found(lines_.position(mark), "an alias (*); write out its value");
    scalar(lines_.position(mark), "", true);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    refuse_anchor(mark, anchor);
    refuse_tag(mark, tag);
    scalar(lines_.position(mark), value, tag == "?");
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    refuse_anchor(mark, anchor);
    refuse_tag(mark, tag);
    open(mark, false);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    refuse_anchor(mark, anchor);
    refuse_tag(mark, tag);
    open(mark, true);
  }
  void OnMapEnd() override { close(); }

  void found(Position at, std::string what) {
    Findings& findings = document_.findings;
    if (findings.size() < findings_max) findings.push_back({at, std::move(what)});
  }

  [[nodiscard]] YamlDocument finish(bool is_yaml) && {
    if (documents_ == 0 && is_yaml) found({}, "the file is empty; an agent has a name and a model");
    document_.is_whole = is_yaml && documents_ == 1 && !is_too_deep_;
    return std::move(document_);
  }

 private:
  void refuse_anchor(const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (anchor != 0)
      found(lines_.position(mark), "an anchor (&); anchors and aliases are not read");
  }
  void refuse_tag(const YAML::Mark& mark, const std::string& tag) {
    const bool is_tag = !tag.empty() && tag != "?" && tag != "!";
    if (is_tag) found(lines_.position(mark), "a tag (" + tag + "); leave it out");
  }

  [[nodiscard]] bool wants_key() const {
    return !open_.empty() && open_.back().is_map && !open_.back().key;
  }

  void open(const YAML::Mark& mark, bool is_map) {
    const Position at = lines_.position(mark);
    if (wants_key()) {
      found(at, "a key must be text");
      open_.back().key = Key{.at = at};
    }
    if (open_.size() == yaml_depth_max && !std::exchange(is_too_deep_, true)) {
      found(at, "nested too deeply");
    }
    open_.push_back({.is_map = is_map, .at = at});
  }

  void close() {
    Open done = std::move(open_.back());
    open_.pop_back();
    Json value = done.is_map ? Json(std::move(done.members)) : Json(std::move(done.elements));
    add(std::move(value), {.at = done.at, .children = std::move(done.children)});
  }

  void scalar(Position at, const std::string& text, bool is_plain) {
    if (wants_key()) {
      take_key({.text = text, .at = at}, is_plain);
      return;
    }
    std::optional<Json> value = is_plain ? plain_scalar(text) : Json(text);
    if (!value) {
      found(at, text +
                    " means different things to different readers of YAML; in quotes it is a text, "
                    "and otherwise write true, false, or the number in plain digits");
    }
    add(value ? *std::move(value) : Json(), {.at = at});
  }

  void take_key(Key key, bool is_plain) {
    Open& map = open_.back();
    if (is_plain && (key.text.empty() || key.text == "<<")) {
      found(key.at, key.text.empty() ? "a key must be text" : "<<; write out what it would merge");
    }
    const auto [first, is_new] = map.keys.try_emplace(key.text, key.at);
    if (!is_new) {
      found(key.at, "\"" + key.text + "\" is here twice; it is in line " +
                        std::to_string(first->second.line) + " already");
    }
    map.key = std::move(key);
  }

  void add(Json value, Place place) {
    place.key = place.at;
    if (open_.empty()) {
      if (documents_ > 1) return;
      document_.value = std::move(value);
      document_.place = std::move(place);
      return;
    }
    Open& parent = open_.back();
    if (parent.is_map) {
      place.key = parent.key->at;
      parent.members.emplace_back(std::move(parent.key->text), std::move(value));
      parent.key.reset();
    } else {
      parent.elements.push_back(std::move(value));
    }
    parent.children.push_back(std::move(place));
  }

  const Lines& lines_;
  int documents_ = 0;
  std::vector<Open> open_;
  bool is_too_deep_ = false;
  YamlDocument document_;
};

std::optional<std::size_t> index_of(const Json& value, std::string_view token) {
  if (const auto* object = value.as_object()) {
    const auto found = std::ranges::find(*object, pointer_name(token), &Json::Member::first);
    if (found == object->end()) return std::nullopt;
    return static_cast<std::size_t>(found - object->begin());
  }
  const auto* array = value.as_array();
  std::size_t index = 0;
  const auto read = std::from_chars(token.data(), token.data() + token.size(), index);
  const bool is_there = array != nullptr && read.ec == std::errc{} && index < array->size();
  return is_there ? std::optional(index) : std::nullopt;
}

}  // namespace

YamlDocument read_yaml(std::string_view text) {
  const Lines lines(text);
  Builder builder(lines);
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    if (parser.HandleNextDocument(builder)) parser.HandleNextDocument(builder);
  } catch (const YAML::Exception& error) {
    builder.found(lines.position(error.mark), "is not YAML: " + error.msg);
    return std::move(builder).finish(false);
  }
  return std::move(builder).finish(true);
}

Spot spot_at(const YamlDocument& document, std::string_view pointer) {
  const Json* value = &document.value;
  const Place* place = &document.place;
  while (!pointer.empty()) {
    pointer.remove_prefix(1);
    const std::size_t end = std::min(pointer.find('/'), pointer.size());
    const auto index = index_of(*value, pointer.substr(0, end));
    if (!index) break;
    place = &place->children[*index];
    value =
        value->is_object() ? &(*value->as_object())[*index].second : &(*value->as_array())[*index];
    pointer.remove_prefix(end);
  }
  return {*value, *place};
}

}  // namespace perdure::agent_file
