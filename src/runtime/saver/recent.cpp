// Recent states, the longest unused forgotten first.

#include "saver/recent.hpp"

#include <iterator>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace perdure::saver {

std::optional<Known> Recent::find(const std::string& thread) {
  const std::lock_guard lock(mutex_);
  const auto place = places_.find(thread);
  if (place == places_.end()) return std::nullopt;
  order_.splice(order_.begin(), order_, place->second);
  return place->second->second;
}

void Recent::keep(const std::string& thread, Known known) {
  const std::lock_guard lock(mutex_);
  if (const auto place = places_.find(thread); place != places_.end()) drop(place->second);
  bytes_ += known.text->size();
  order_.emplace_front(thread, std::move(known));
  places_[thread] = order_.begin();
  while (bytes_ > bytes_max_) drop(std::prev(order_.end()));
}

void Recent::forget(const std::string& thread) {
  const std::lock_guard lock(mutex_);
  if (const auto place = places_.find(thread); place != places_.end()) drop(place->second);
}

void Recent::drop(Order::iterator place) {
  bytes_ -= place->second.text->size();
  places_.erase(place->first);
  order_.erase(place);
}

}  // namespace perdure::saver
