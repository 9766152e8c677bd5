// Holds an object that outlives every other: a function-local static of this
// type may still be used by threads and destructors that run while the process
// exits.

#pragma once

#include <utility>

namespace perdure {

template <class T>
class NeverDestroyed {
 public:
  template <class... Args>
  explicit NeverDestroyed(Args&&... args) : storage_(std::forward<Args>(args)...) {}

  T& value() { return storage_.value; }

 private:
  union Storage {
    template <class... Args>
    explicit Storage(Args&&... args) : value(std::forward<Args>(args)...) {}
    ~Storage() {}
    T value;
  };

  Storage storage_;
};

}  // namespace perdure
