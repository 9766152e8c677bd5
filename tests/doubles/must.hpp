// What a test takes for granted: the value, or an exception that ends the test.

#pragma once

#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "perdure/core/error.hpp"

namespace perdure {

template <class T>
T must(Result<T> result) {
  if (!result) {
    throw std::runtime_error(std::string(to_string(result.error().code)) + ": " +
                             result.error().message);
  }
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

}  // namespace perdure
