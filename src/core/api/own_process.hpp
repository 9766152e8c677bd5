// What belongs to the process that made it.
//
// After fork(2) the child has a copy of every object, but none of the threads, and it shares what
// is behind them: locks, connections, leases. So in the child every method fails, and a destructor
// leaves all as it is: it joins no thread, gives up no lease and says goodbye to no server.

#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "perdure/core/error.hpp"

namespace perdure {

/// Remembers the process that it was made in; a copy remembers the same one.
class OwnProcess {
 public:
  OwnProcess();

  [[nodiscard]] bool is_here() const;
  /// Fails: `closed` in any other process.
  [[nodiscard]] Result<void> check() const;

 private:
  std::int64_t pid_;
};

/// Deletes in its own process. In a child the object stays, untouched.
struct OwnProcessDelete {
  OwnProcess process{};

  template <class T>
  void operator()(T* object) const {
    if (process.is_here()) std::default_delete<T>()(object);
  }
};

/// Also knows its process while it is empty: `p.get_deleter().process`.
template <class T>
using OwnProcessPtr = std::unique_ptr<T, OwnProcessDelete>;

/// Checks the process of an object that was made by of_own_process and moved into a shared_ptr.
/// Fails: `closed` in any other process.
template <class T>
[[nodiscard]] Result<void> check_own_process(const std::shared_ptr<T>& object) {
  return std::get_deleter<OwnProcessDelete>(object)->process.check();
}

template <class T>
[[nodiscard]] OwnProcessPtr<T> of_own_process(std::unique_ptr<T> object) {
  return OwnProcessPtr<T>(object.release());
}

}  // namespace perdure
