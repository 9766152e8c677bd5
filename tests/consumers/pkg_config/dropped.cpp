// Must not be compiled where warnings are errors: each line drops a Result.

#include <perdure/core/json.hpp>
#include <perdure/store/store.hpp>

perdure::Result<void> write() { return {}; }

int main() {
  write();
  perdure::parse_json("{}");
  perdure::open_store("memory:");
}
