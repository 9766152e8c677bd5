// One lock for all of it: a test that has seen a count has seen everything before it.

#include "doubles/pg_script.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "perdure/core/time.hpp"

namespace perdure {
namespace {

bool has_words(const std::vector<std::string>& texts, const std::string& words) {
  return std::ranges::any_of(
      texts, [&](const std::string& text) { return text.find(words) != std::string::npos; });
}

}  // namespace

std::string_view to_string(PgPlace place) {
  switch (place) {
    case PgPlace::before_request:
      return "before_request";
    case PgPlace::before_sync:
      return "before_sync";
    case PgPlace::after_results:
      return "after_results";
    case PgPlace::after_request:
      return "after_request";
    case PgPlace::after_reply:
      return "after_reply";
    case PgPlace::within_reply:
      return "within_reply";
  }
  return "";
}

void PgScript::plan(PgPlan plan) {
  const std::lock_guard lock(mutex_);
  plans_.push_back(std::move(plan));
}

void PgScript::forget_plans() {
  const std::lock_guard lock(mutex_);
  plans_.clear();
}

void PgScript::ignore(std::string words) {
  const std::lock_guard lock(mutex_);
  ignored_ = std::move(words);
}

void PgScript::set_delay(Duration delay) {
  const std::lock_guard lock(mutex_);
  delay_ = delay;
  changed_.notify_all();
}

void PgScript::pause() {
  const std::lock_guard lock(mutex_);
  is_paused_ = true;
}

void PgScript::go_on() {
  const std::lock_guard lock(mutex_);
  is_paused_ = false;
  ++released_;
  changed_.notify_all();
}

void PgScript::end() {
  const std::lock_guard lock(mutex_);
  is_over_ = true;
  changed_.notify_all();
}

bool PgScript::wait_for_plans(Duration timeout) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, timeout, [&] { return plans_.empty() && under_way_ == 0; });
}

bool PgScript::wait_until(const std::function<bool(const PgCounts&)>& is_so, Duration timeout) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, timeout, [&] { return is_so(counts_); });
}

std::optional<std::int32_t> PgScript::held_backend() const {
  const std::lock_guard lock(mutex_);
  return held_backend_;
}

PgCounts PgScript::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

std::map<std::string, std::uint64_t, std::less<>> PgScript::texts() const {
  const std::lock_guard lock(mutex_);
  return texts_;
}

void PgScript::note_connection() {
  const std::lock_guard lock(mutex_);
  ++counts_.connections;
  changed_.notify_all();
}

void PgScript::note_reply() {
  const std::lock_guard lock(mutex_);
  ++counts_.round_trips;
  changed_.notify_all();
}

PgScript::Met PgScript::meet(const std::vector<std::string>& texts, const PgCounts& has) {
  const std::lock_guard lock(mutex_);
  Met met{.is_counted = ignored_.empty() || !has_words(texts, ignored_)};
  if (met.is_counted) {
    counts_.exchanges += has.exchanges;
    counts_.parses += has.parses;
    counts_.statements += texts.size();
  }
  for (const std::string& text : texts) ++texts_[text];
  for (PgPlan& plan : plans_) {
    const bool fits = (plan.of.empty() || has_words(texts, plan.of)) &&
                      (plan.but.empty() || !has_words(texts, plan.but));
    if (fits && --plan.nth == 0 && !met.plan) met.plan = plan;
  }
  std::erase_if(plans_, [](const PgPlan& plan) { return plan.nth == 0; });
  if (met.plan) ++under_way_;
  changed_.notify_all();
  return met;
}

void PgScript::happened(const PgPlan& plan, std::int32_t backend) {
  std::unique_lock lock(mutex_);
  --under_way_;
  if (plan.deed == PgDeed::hold) held_backend_ = backend;
  changed_.notify_all();
  if (plan.deed != PgDeed::hold) return;
  const std::uint64_t before = released_;
  changed_.wait(lock, [&] { return is_over_ || released_ != before; });
  held_backend_.reset();
}

void PgScript::pass(bool is_reply) {
  std::unique_lock lock(mutex_);
  if (is_reply && delay_ > Duration(0)) {
    changed_.wait_for(lock, delay_, [&] { return is_over_ || delay_ == Duration(0); });
  }
  changed_.wait(lock, [&] { return is_over_ || !is_paused_; });
}

}  // namespace perdure
