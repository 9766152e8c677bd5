// The least a program can do with Perdure: keep a session in a store.
// Argument: a folder for the store.

#include <cstdio>
#include <string>

#include <perdure/store/store.hpp>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const auto store = perdure::open_store(std::string(argv[1]) + "/consumer.db");
  if (!store) {
    std::printf("no store: %s\n", store.error().message.c_str());
    return 1;
  }
  const auto id = perdure::mint<perdure::SessionTag>(perdure::random_ids());
  perdure::NewSession session;
  session.id = id;
  const auto created = (*store)->sessions().create(session);
  const auto found = (*store)->sessions().read(id);
  std::printf("session %s: %s\n", id.text().c_str(), found ? "found again" : "lost");
  return created && found && *created == *found ? 0 : 1;
}
