// Moves all sessions of one store to another, of any two backends:
//
//   perdure_move first.db postgres://…

#include <iostream>

#include <perdure/store/store.hpp>
#include <perdure/store/upkeep.hpp>

using namespace perdure;

int main(int count, char** words) {
  if (count != 3) return 2;
  const auto from = open_store(words[1], {.create = false}).value();
  const auto to = open_store(words[2]).value();

  const auto report = move_sessions(*from, *to, {}, [](const Step& step) {
    std::cout << step.done << " of " << step.total << '\n';
    return true;  // False: stop here; nothing is changed.
  });
  if (!report) {
    std::cout << report.error().message << '\n';  // Nothing has moved; or repeat the move.
    return 1;
  }
  std::cout << report->sessions << " sessions with " << report->entries << " entries moved\n";
  const auto left = from->sessions().list({}).value();
  for (const SessionSummary& session : left.sessions) {
    std::cout << session.id.text() << " was moved to " << session.moved_to << '\n';
  }
}
