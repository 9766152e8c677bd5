// Nightly maintenance of a store: check, prune, backup. Agents may run at the same time.

#include <filesystem>
#include <iostream>

#include <perdure/store/store.hpp>

using namespace perdure;

int main(int count, char** words) {
  const std::string path = count > 1 ? words[1] : "first.db";
  const auto store = open_store(path, {.create = false}).value();

  const auto report = store->upkeep().check().value();
  for (const Damage& damage : report.damage) std::cout << "damage: " << damage.what << '\n';
  if (!report.is_sound()) return 1;  // Salvage it (salvage_store) before anything else.
  std::cout << report.entries << " entries are sound\n";

  const Keep rule{.last = 10, .every = 100};  // And every version with a label.
  const auto page = store->sessions().list({.limit = 1000}).value();
  for (const SessionSummary& session : page.sessions) {
    const auto pruned = store->upkeep().prune(session.id, rule).value();
    std::cout << session.id.text() << ": " << pruned.versions << " versions forgotten, "
              << pruned.bytes << " bytes freed\n";
  }
  store->upkeep().collect_blobs(std::chrono::hours(24)).value();
  store->upkeep().vacuum().value();

  const std::string copy = path + ".backup";
  std::filesystem::remove(copy);
  store->upkeep().backup(copy).value();
  std::cout << "backup: " << std::filesystem::file_size(copy) << " bytes\n";
}
