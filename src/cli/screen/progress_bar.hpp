// How far long work has come, on a terminal only; it leaves nothing behind.

#pragma once

#include <cstdint>
#include <string>

#include "perdure/core/time.hpp"
#include "perdure/store/upkeep.hpp"
#include "screen/screen.hpp"

namespace perdure::cli {

class ProgressBar {
 public:
  ProgressBar(Screen& talk, const Clock& clock, std::string what);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// For as long as this object lives.
  [[nodiscard]] Progress follow();

 private:
  void draw(const Step& step);

  Screen& talk_;
  const Clock& clock_;
  std::string what_;
  Uptime next_;
  bool is_drawn_ = false;
};

}  // namespace perdure::cli
