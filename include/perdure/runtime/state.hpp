// What a session is, folded from its log: live, over what was just committed, and at resume, over
// all of it. Folding never fails: an entry that is erased, damaged or not what its kind says is
// passed over, and what it would have replaced stays in force (Upkeep::check finds damage). Channels this
// version does not know are the user's, and kept as they are.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "perdure/runtime/conversation.hpp"
#include "perdure/store/log.hpp"

namespace perdure {

struct StateDetails;

/// Money of a session, in millionths of a dollar. Each is at least 0, and their sum fits 64 bits.
///
/// The most that a request can cost is reserved before it is made; its response turns that into
/// what was spent. Where the cost is not known, it is `unconfirmed`, and counts as spent until it
/// is recorded. A child session gets a grant, and returns what it did not spend. What was paid is
/// recorded even beyond the limit; only a reservation or a grant is refused there.
struct BudgetTotals {
  std::optional<std::int64_t> limit{};  ///< Empty: none.
  std::int64_t spent = 0;
  std::int64_t unconfirmed = 0;
  std::int64_t reserved = 0;
  std::int64_t granted = 0;
  Unknown unknown{};
  bool operator==(const BudgetTotals&) const = default;

  /// spent + unconfirmed + reserved + granted; the largest number there is if they do not fit.
  [[nodiscard]] std::int64_t recorded() const;
  /// What may still be reserved or granted, 0 if the limit is reached. Empty: no limit.
  [[nodiscard]] std::optional<std::int64_t> available() const;
};

/// The most that a request may cost that was not answered yet, or whose cost is unconfirmed.
struct Reservation {
  std::int64_t micros = 0;
  std::string what{};
  bool is_unconfirmed = false;
  bool operator==(const Reservation&) const = default;
};

/// The budget of a session: its totals, and what is still open of them.
struct Budget {
  BudgetTotals totals{};
  std::map<std::string, Reservation, std::less<>> reservations{};  ///< Open ones, by id.
  std::map<std::string, std::int64_t, std::less<>> grants{};       ///< Open ones, by child session.
  bool operator==(const Budget&) const = default;

  [[nodiscard]] std::optional<std::int64_t> available() const { return totals.available(); }
};

/// Numbers that a session counts by name: retries, nudges, rounds.
struct Counters {
  std::map<std::string, std::int64_t, std::less<>> values{};
  Unknown unknown{};
  bool operator==(const Counters&) const = default;

  /// 0 for one that was never counted.
  [[nodiscard]] std::int64_t at(std::string_view name) const;
};

inline constexpr std::size_t scratch_value_bytes_max = std::size_t{16} << 20U;

using ScratchValue = std::variant<std::string, BlobRef>;

/// Notes that an agent keeps beside the conversation, by key. They may also be files of a folder,
/// which people may edit: `scratchpad: {folder: PATH}` of an agent file.
struct Scratchpad {
  std::map<std::string, ScratchValue, std::less<>> values{};
  bool operator==(const Scratchpad&) const = default;
};

struct PlacedMessage {
  Position position = 0;
  Message message{};
  bool operator==(const PlacedMessage&) const = default;
};

/// An entry of a user's channel.
struct ChannelItem {
  Position position = 0;
  std::string kind{};
  Body body{};
  bool operator==(const ChannelItem&) const = default;
};

/// The part of a State that only Perdure reads; a value.
class DetailsOfState {
 public:
  DetailsOfState();
  ~DetailsOfState();
  DetailsOfState(const DetailsOfState& other);
  DetailsOfState(DetailsOfState&& other) noexcept;
  DetailsOfState& operator=(DetailsOfState other) noexcept;
  bool operator==(const DetailsOfState& other) const;

  StateDetails* operator->() { return details_.get(); }
  const StateDetails* operator->() const { return details_.get(); }

 private:
  std::unique_ptr<StateDetails> details_;  // Never null.
};

struct State {
  Position head = 0;          ///< Of the last entry folded; 0: none.
  std::uint64_t entries = 0;  ///< How many were folded.
  Tally totals{};             ///< What all entries folded add up to, passed over or not.
  std::optional<Setup> setup{};
  std::vector<PlacedMessage> transcript{};  ///< By position.
  std::optional<Plan> plan{};
  Budget budget{};
  Counters counters{};
  Scratchpad scratchpad{};
  /// After a `replace` entry one item, and what was appended since.
  std::map<std::string, std::vector<ChannelItem>, std::less<>> channels{};
  DetailsOfState details{};
  bool operator==(const State&) const = default;
};

/// How two versions of a session differ, or a session and its fork.
struct Difference {
  /// Positions of messages that only b has, and that only a has. Where both have another
  /// message at one position, as two forks may, it is in both lists.
  std::vector<Position> messages_added{};
  std::vector<Position> messages_removed{};
  bool is_setup_changed = false;
  bool is_plan_changed = false;
  bool is_budget_changed = false;
  std::vector<std::string> counters{};    ///< Names whose numbers differ.
  std::vector<std::string> scratchpad{};  ///< Keys whose values differ.
  std::vector<std::string> channels{};    ///< The user's, whose items differ.
  bool operator==(const Difference&) const = default;

  [[nodiscard]] bool is_empty() const { return *this == Difference{}; }
};

}  // namespace perdure
