// The states that were put last, so that the next put need not read what it compares with.
//
// A hint, never the truth: whoever uses one checks under the session's lease that nothing
// came after it.

#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "perdure/store/log.hpp"

namespace perdure::saver {

/// A thread as the last put left it.
struct Known {
  std::string life{};  ///< Of the session: one made anew under the same id has another.
  Position head = 0;
  std::string checkpoint{};  ///< Its id.
  /// Shared with the checkpoint that was handed out.
  std::shared_ptr<const std::string> text{};
  std::size_t cost = 0;  ///< Of the changes since the last whole state.
};

/// Thread safety: every method may be called from any thread at any time.
class Recent {
 public:
  explicit Recent(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  [[nodiscard]] std::optional<Known> find(const std::string& thread);
  /// Forgets those used longest ago where there is not room for all.
  void keep(const std::string& thread, Known known);
  void forget(const std::string& thread);

 private:
  using Order = std::list<std::pair<std::string, Known>>;
  void drop(Order::iterator place);

  const std::size_t bytes_max_;
  std::mutex mutex_;
  Order order_;  ///< The last used one first.
  std::unordered_map<std::string, Order::iterator> places_;
  std::size_t bytes_ = 0;
};

}  // namespace perdure::saver
