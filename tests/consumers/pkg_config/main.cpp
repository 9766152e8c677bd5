// Keeps a session in a store, and finds that JSON means what it means to every other compiler.
// Argument: a folder for the store.

#include <cstdio>
#include <string>

#include <perdure/core/json.hpp>
#include <perdure/store/store.hpp>

namespace {

using perdure::Json;

bool means(const Json& json, const char* text) {
  if (json.text() == text) return true;
  std::printf("%s was to be %s\n", json.text().c_str(), text);
  return false;
}

// Compilers differ about one list in braces, where it may be a copy or an element.
bool is_the_same_json() {
  const Json::Array two{1, 2};
  return means(Json(Json::Array{Json::Array{1, 2}}), "[1,2]") && means(Json{two}, "[1,2]") &&
         means(Json(Json::Array{two}), "[1,2]") && means(Json(Json::Array::of(two)), "[[1,2]]") &&
         means(Json(Json::Array{Json(two)}), "[[1,2]]") &&
         means(Json(Json::Array{two, two}), "[[1,2],[1,2]]") &&
         means(Json(Json::Array{Json::Object{{"a", Json::Array{}}}}), "[{\"a\":[]}]");
}

// And about a Result<bool> that is copied from what is not const.
bool is_the_same_result() {
  perdure::Result<bool> no = false;
  const perdure::Result<bool> copy = no;
  return copy && !*copy && copy == no;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  if (!is_the_same_json() || !is_the_same_result()) return 1;
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
