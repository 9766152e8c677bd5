// Moves all sessions of one store to another, of any two backends:
//
//   perdure_move first.db postgres://…

#include <iostream>

#include <perdure/store/copy.hpp>
#include <perdure/store/store.hpp>

using namespace perdure;

int main(int count, char** words) {
  if (count != 3) return 2;
  const auto from = open_store(words[1], {.create = false}).value();
  const auto to = open_store(words[2]).value();

  const auto report = copy_store(*from, *to, {}, [](const Step& step) {
    std::cout << step.done << " of " << step.total << '\n';
    return true;  // False: stop here. Another copy_store goes on, abandon_copy gives up.
  });
  if (!report) {
    std::cout << report.error().message << '\n';  // Nothing has moved; or copy again.
    return 1;
  }
  std::cout << report->sessions << " sessions with " << report->entries << " entries moved\n";
  const auto left = from->sessions().list({}).value();
  for (const SessionSummary& session : left.sessions) {
    std::cout << session.id.text() << " went to " << session.moved_to << '\n';
  }
}
