// What a person, or a script, is told.

#pragma once

#include <string>

#include "invoice/episode.hpp"
#include "trial.hpp"
#include "verdict.hpp"

namespace demo {

struct Report {
  std::string program;  ///< As it was called.
  Plan plan;
  bool is_kept = false;
  Record record;
  Verdict verdict;

  [[nodiscard]] bool is_good() const { return record.troubles.empty() && verdict.is_good(); }
};

void print_opening(const Plan& plan);
/// One line that is written over itself; nothing unless a person watches.
void print_progress(const Plan& plan, const Record& record);
void print(const Report& report);
void print_next(const Report& report);
/// Both parts in one object.
void print_json(const Report& report, const invoice::Episode& episode);

}  // namespace demo
