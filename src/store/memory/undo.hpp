// Taking a change back that turned out to be impossible half way.
//
// Before something is changed, it is named here. Unless `keep` is called, all of it
// is put back as it was, last change first. The cost is that of what changes, never
// that of the tables it is in.

#pragma once

#include <functional>
#include <ranges>
#include <utility>
#include <vector>

namespace perdure::memory {

class Undo {
 public:
  Undo() = default;
  Undo(const Undo&) = delete;
  Undo& operator=(const Undo&) = delete;

  ~Undo() {
    for (const auto& step : steps_ | std::views::reverse) step();
  }

  /// `value` will change.
  template <class T>
  void of_value(T& value) {
    steps_.push_back([&value, before = value] { value = before; });
  }

  /// Elements will be added at the end.
  template <class T>
  void of_end(std::vector<T>& elements) {
    steps_.push_back([&elements, size = elements.size()] {
      elements.erase(elements.begin() + static_cast<std::ptrdiff_t>(size), elements.end());
    });
  }

  /// What is at `key` will be added, changed or removed.
  template <class Map>
  void of_key(Map& map, const typename Map::key_type& key) {
    const auto found = map.find(key);
    if (found == map.end()) {
      steps_.push_back([&map, key] { map.erase(key); });
    } else {
      steps_.push_back([&map, key, before = found->second] { map.insert_or_assign(key, before); });
    }
  }

  void keep() { steps_.clear(); }

 private:
  std::vector<std::function<void()>> steps_;
};

}  // namespace perdure::memory
