// What the fuzz targets share: one input as text, and a rule that must hold for it.
//
// Each target is one decoder of stored or received bytes. It may refuse any input; it
// may not crash, run for ever, or break the rule its file states. libFuzzer calls it,
// built by clang with the address and undefined-behaviour sanitizers (run.py).

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace perdure::fuzz {

/// Ends the process if the rule does not hold, so that libFuzzer keeps the input.
inline void expect(bool holds, const char* rule) {
  if (holds) return;
  std::fprintf(stderr, "broken rule: %s\n", rule);
  std::abort();
}

/// Takes numbers and texts off the front of an input; an input that is used up gives zeros.
class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size)
      : rest_(reinterpret_cast<const char*>(data), size) {}

  std::uint64_t number(std::size_t bytes) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i) {
      const char next = i < rest_.size() ? rest_[i] : '\0';
      value = value << 8U | static_cast<unsigned char>(next);
    }
    rest_.remove_prefix(bytes < rest_.size() ? bytes : rest_.size());
    return value;
  }

  /// Up to the next zero byte, which is taken too.
  std::string_view text() {
    const std::string_view found = rest_.substr(0, rest_.find('\0'));
    const std::size_t used = found.size() + 1;
    rest_.remove_prefix(used < rest_.size() ? used : rest_.size());
    return found;
  }

  [[nodiscard]] std::string_view rest() const { return rest_; }
  [[nodiscard]] bool empty() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

}  // namespace perdure::fuzz

/// libFuzzer's own name for a target.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
