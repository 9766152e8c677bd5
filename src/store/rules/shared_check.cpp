// As session_check.cpp looks at entries, without what receipts would say of them.

#include "rules/shared_check.hpp"

#include <fmt/format.h>
#include <string_view>

#include "perdure/store/log.hpp"
#include "perdure/store/upkeep.hpp"
#include "rules/check_run.hpp"
#include "rules/findings.hpp"
#include "rules/history.hpp"
#include "rules/soundness.hpp"
#include "rules/stored_session.hpp"

namespace perdure::rules {
namespace {

class SharedCheck {
 public:
  SharedCheck(CheckRun& run, StoredSession& rows, const SharedPart& part)
      : run_(run), rows_(rows), part_(part) {}

  void check() {
    rows_.entries(part_.stretch,
                  {.entry = [&](Entry&& entry) { check_entry(entry); },
                   .missing = [&](Position first, Position last) { check_missing(first, last); }});
  }

 private:
  void check_entry(const Entry& entry) {
    ++run_.report().entries;
    run_.report().bytes += entry.body.bytes().size();
    const Stretch here{entry.segment, entry.position, entry.position};
    if (is_lost(entry)) return add(Fault::chain, here, "was lost before a salvage");
    if (entry.condition == Condition::damaged) {
      return add(Fault::chain, here, "has a body that does not match its hash");
    }
    if (entry.condition != Condition::intact || entry.body.codec() != Codec::blob) return;
    run_.guard(part_.heir, "a blob", [&] {
      if (!rows_.has_blob(entry.body)) {
        add(Fault::reference, here, "names a blob that is not there");
      }
    });
  }

  void check_missing(Position first, Position last) {
    run_.guard(part_.heir, "what was pruned", [&] {
      for (const Stretch& left : rows_.not_pruned({part_.stretch.segment, first, last})) {
        add(Fault::order, left, left.first == left.last ? "is missing" : "are missing");
      }
    });
  }

  void add(Fault fault, const Stretch& stretch, std::string_view what) {
    run_.found.add(
        {.fault = fault,
         .session = part_.heir,
         .first = stretch.first,
         .last = stretch.last,
         .what = fmt::format("{} of segment {}, which forks of a removed session share, {}",
                             positions_text(stretch.first, stretch.last), stretch.segment, what)});
  }

  CheckRun& run_;
  StoredSession& rows_;
  const SharedPart& part_;
};

}  // namespace

void check_shared(CheckRun& run, StoredSession& rows, const SharedPart& part) {
  SharedCheck(run, rows, part).check();
}

}  // namespace perdure::rules
