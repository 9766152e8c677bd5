// Words that a row keeps, and the same refusals everywhere.

#include "rules/moves.hpp"

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>

#include "perdure/core/error.hpp"
#include "perdure/core/id.hpp"
#include "perdure/store/ledger.hpp"
#include "perdure/store/log.hpp"
#include "perdure/store/sessions.hpp"
#include "rules/fields.hpp"
#include "store/api/limits.hpp"
#include "store/api/transfer.hpp"

namespace perdure::rules {

namespace {

constexpr std::string_view moving_word = "moving ";
constexpr std::string_view moved_word = "moved ";

}  // namespace

std::string to_text(const Moved& moved) {
  return fmt::format("{}{} {}", moved_word, moved.to.incarnation, moved.to.place);
}

Moved moved_from(std::string_view text) {
  Moved moved;
  if (text.starts_with(moving_word)) return moved;
  std::string_view rest = text;
  if (text.starts_with(moved_word)) rest.remove_prefix(moved_word.size());
  const std::size_t end = rest.find(' ');
  if (end == std::string_view::npos) {
    moved.to.place = text;
    return moved;
  }
  moved.to.incarnation = rest.substr(0, end);
  moved.to.place = rest.substr(end + 1);
  return moved;
}

Result<void> check_here(const SessionId& session, const Moved& moved) {
  if (moved.is_here()) return {};
  const std::string& place = moved.to.place;
  return fail(ErrorCode::conflict,
              fmt::format("session {} was moved to {}: use it there", session.text(), place),
              place);
}

Result<void> check(const Destination& to) {
  if (auto name = check_name("incarnation", to.incarnation, name_bytes_max); !name) return name;
  return check_name("place", to.place, text_bytes_max);
}

Result<void> check_unchanged(const SessionVersion& before, std::uint64_t revision) {
  if (before.revision == revision) return {};
  return fail(ErrorCode::conflict,
              fmt::format("session {} changed while it was being moved", before.session.text()),
              before.session.text());
}

Result<bool> check_next(const Arrival& arrival, const FactSlice& slice, const OpenArrival& open) {
  if (open.attempt == arrival.attempt) {
    if (slice.from == open.next) return true;
    if (slice.next == open.next) return false;
    return fail(ErrorCode::conflict, "these facts are not the next ones of the arrival");
  }
  if (slice.from != FactCursor{}) {
    return fail(ErrorCode::lease_lost, "there is no such arrival: it was discarded or released");
  }
  if (open.attempt == 0) return true;
  return fail(ErrorCode::conflict, "another arrival from there is under way");
}

std::unexpected<Error> not_marked() {
  return fail(ErrorCode::conflict, "that attempt did not mark its sessions as moved");
}

// A control character: no id has one.
std::string Families::name_of(OwnerNumber removed) { return fmt::format("\x01{}", removed); }

std::string Families::root_of(const std::string& name) {
  const auto found = above_.find(name);
  if (found == above_.end()) return name;
  const std::string root = root_of(found->second);
  found->second = root;
  return root;
}

void Families::join(const std::string& one, const std::string& other) {
  const std::string root = root_of(one);
  const std::string above = root_of(other);
  if (root != above) above_[root] = above;
}

Result<void> Families::check_complete(const std::set<SessionId>& leaving,
                                      const std::set<SessionId>& here) {
  std::map<std::string, SessionId> families;
  for (const SessionId& session : leaving) families.emplace(root_of(session.text()), session);
  for (const SessionId& session : here) {
    if (leaving.contains(session)) continue;
    const auto family = families.find(root_of(session.text()));
    if (family == families.end()) continue;
    return fail(
        ErrorCode::conflict,
        fmt::format("session {} cannot move without session {}: forks, children and sessions "
                    "that share a log move together",
                    family->second.text(), session.text()),
        session.text());
  }
  return {};
}

// A slice is written in one transaction of the target: short, so that its own writers can continue.

namespace {

constexpr std::size_t facts_max = 512;
// Receipts are small, and to read them in order all of a session are sorted.
constexpr std::size_t receipts_max = 4096;

std::uint64_t size_of(const Fact& fact) {
  if (const auto* entry = std::get_if<Entry>(&fact)) return entry->body.bytes().size();
  if (const auto* message = std::get_if<MessageFact>(&fact)) {
    return message->message.body.bytes().size();
  }
  return 0;
}

FactKind after(FactKind kind) { return static_cast<FactKind>(static_cast<std::uint8_t>(kind) + 1); }

// The number before the next space, which is taken off too.
std::optional<std::uint64_t> take_number(std::string_view& text) {
  const std::size_t end = text.find(' ');
  if (end == std::string_view::npos) return std::nullopt;
  std::uint64_t number = 0;
  const std::string_view digits = text.substr(0, end);
  const char* last = digits.data() + digits.size();
  const auto read = std::from_chars(digits.data(), last, number);
  if (read.ec != std::errc{} || read.ptr != last) return std::nullopt;
  text.remove_prefix(end + 1);
  return number;
}

class Renumbering : public Archive<Renumbering> {
 public:
  explicit Renumbering(const Numbers& numbers) : numbers_(numbers) {}

  [[nodiscard]] bool are_all_known() const { return are_all_known_; }

  Renumbering& operator()(auto& /*nested*/) { return *this; }
  Renumbering& operator()(std::string_view /*name*/, auto& /*value*/) { return *this; }
  Renumbering& key(Call& /*call*/) { return *this; }
  Renumbering& content(auto& /*fact*/, Body& /*body*/) { return *this; }
  Renumbering& owner(std::string_view /*name*/, OwnerNumber& number) {
    return put(numbers_.owners, number);
  }
  Renumbering& segment(std::string_view /*name*/, SegmentId& number) {
    return put(numbers_.segments, number);
  }
  Renumbering& segment(std::string_view /*name*/, std::optional<SegmentId>& number) {
    return number ? put(numbers_.segments, *number) : *this;
  }

 private:
  Renumbering& put(const std::map<std::uint64_t, std::uint64_t>& numbers, std::uint64_t& number) {
    const auto found = numbers.find(number);
    are_all_known_ = are_all_known_ && found != numbers.end();
    number = found == numbers.end() ? 0 : found->second;
    return *this;
  }

  const Numbers& numbers_;
  bool are_all_known_ = true;
};

}  // namespace

FactKind kind_of(const Fact& fact) {
  constexpr std::array kinds = {FactKind::session, FactKind::segment, FactKind::pruned,
                                FactKind::entry,   FactKind::receipt, FactKind::checkpoint,
                                FactKind::call,    FactKind::waiting, FactKind::claim,
                                FactKind::resource};
  static_assert(kinds.size() == std::variant_size_v<Fact>);
  const auto* const message = std::get_if<MessageFact>(&fact);
  return message != nullptr && message->consumed ? FactKind::consumed : kinds.at(fact.index());
}

std::optional<BlobRef> blob_of(const Fact& fact) {
  if (const auto* entry = std::get_if<Entry>(&fact)) return entry->body.blob();
  if (const auto* message = std::get_if<MessageFact>(&fact)) return message->message.body.blob();
  return std::nullopt;
}

bool renumber(Fact& fact, const Numbers& numbers) {
  Renumbering renumbering(numbers);
  std::visit([&](auto& one) { fields(renumbering, one); }, fact);
  return renumbering.are_all_known();
}

std::string to_text(const FactCursor& cursor) {
  return fmt::format("{} {} {} {}", static_cast<int>(cursor.kind), cursor.group, cursor.number,
                     cursor.name);
}

std::optional<FactCursor> fact_cursor_from(std::string_view text) {
  const auto kind = take_number(text);
  const auto group = take_number(text);
  const auto number = take_number(text);
  if (!kind || !group || !number || *kind > static_cast<std::uint64_t>(FactKind::none)) {
    return std::nullopt;
  }
  return FactCursor{.kind = static_cast<FactKind>(*kind),
                    .group = *group,
                    .number = *number,
                    .name = std::string(text)};
}

std::size_t SliceMaker::room() const {
  const std::size_t most = at_.kind == FactKind::receipt ? receipts_max : facts_max;
  return bytes_ >= slice_bytes_max ? 0 : most - slice_.facts.size();
}

void SliceMaker::add(std::uint64_t group, std::uint64_t number, Fact fact) {
  add({.kind = at_.kind, .group = group, .number = number, .name = {}}, std::move(fact));
}

void SliceMaker::add(std::uint64_t group, std::string name, Fact fact) {
  add({.kind = at_.kind, .group = group, .number = 0, .name = std::move(name)}, std::move(fact));
}

void SliceMaker::add(FactCursor at, Fact fact) {
  bytes_ += size_of(fact);
  slice_.facts.push_back(std::move(fact));
  at_ = std::move(at);
}

bool SliceMaker::go_on() {
  if (at_.kind == FactKind::none) return false;
  at_ = {.kind = after(at_.kind), .group = 0, .number = 0, .name = {}};
  return slice_.facts.empty() && at_.kind != FactKind::none;
}

FactSlice SliceMaker::finish() && {
  slice_.next = std::move(at_);
  return std::move(slice_);
}

}  // namespace perdure::rules
