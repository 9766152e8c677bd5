// A session's line as turns, steps and attempts. Entries go in one after the other, rows come out;
// only what is still open is kept, so a line of any length takes no memory.

#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "perdure/core/time.hpp"
#include "perdure/runtime/runtime.hpp"
#include "perdure/runtime/state.hpp"
#include "perdure/store/log.hpp"
#include "runtime/api/read.hpp"
#include "runtime/api/records.hpp"

namespace perdure::cli {

struct TimelineRow {
  StepNumber number{};
  std::string kind{};   ///< user, model, tool, inbox, status or damaged.
  std::string what{};   ///< A tool's name, or the first words.
  std::string state{};  ///< Of a call, or done, partial, lost.
  std::string who{};    ///< Changed the status.
  std::string why{};
  std::optional<Position> call{};
  std::vector<Attempted> attempts{};
  Timestamp start{};
  std::optional<Duration> took{};
  Duration offset{0};  ///< Of its start, on a clock that stops while nothing is under way.
  Tally tally{};
  bool is_cost_known = true;  ///< Not of a model without a price.
  Position position = 0;

  /// "2" for what opens a turn, else "2.1".
  [[nodiscard]] std::string number_text() const;
  [[nodiscard]] bool is_problem() const;
};

class TimelineWalk {
 public:
  /// The row that the entry completes, if it does.
  std::optional<TimelineRow> take(const Entry& entry);
  /// Rows of what is still open, once the line has ended.
  [[nodiscard]] std::vector<TimelineRow> open_rows() const;
  /// How long something was under way, all together.
  [[nodiscard]] Duration busy_time() const { return busy_; }

 private:
  struct Open {
    std::string tool{};
    Timestamp since{};
    Duration offset{0};
    std::vector<Attempted> attempts{};
    std::string doubt{};
  };

  std::string letter_words(const Entry& entry) const;
  [[nodiscard]] TimelineRow row_of(const Entry& entry, std::string kind) const;
  std::optional<TimelineRow> take_message(const Entry& entry);
  std::optional<TimelineRow> take_status(const Entry& entry);
  std::optional<TimelineRow> take_result(const Entry& entry, const ToolResultBlock& result);
  std::optional<TimelineRow> take_request(const Entry& entry);
  void take_call_record(const Entry& entry);

  StepCounter counter_;
  StepNumber number_;
  std::map<Position, Open> open_;
  std::optional<Timestamp> asked_at_;
  Duration asked_offset_{0};
  std::string letter_;  ///< The kind of the last one.
  Timestamp letter_at_{};
  std::optional<Timestamp> answered_at_;  ///< When the last message ended a turn, if it did.
  bool is_resting_ = false;               ///< It rests since that turn.
  std::optional<Timestamp> last_;
  Duration busy_{0};
};

}  // namespace perdure::cli
