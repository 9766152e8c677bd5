// A store whose facts are changed on their way, in or out; all else is the store behind it.

#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "doubles/watched_store.hpp"
#include "perdure/store/store.hpp"

namespace perdure {

class FalseStore final : public WatchedStore, private Transfer {
 public:
  using Change = std::function<void(Fact&)>;

  /// `behind` must outlive this.
  explicit FalseStore(Store& behind)
      : WatchedStore(behind, with_transfer(behind, *this)), behind_(behind.transfer()) {}

  void on_read(Change change) { read_ = std::move(change); }
  void leave_out(std::function<bool(const Fact&)> which) { left_out_ = std::move(which); }
  void on_take(Change change) { take_ = std::move(change); }

 private:
  Result<Departure> find_departure(const std::string& target) override {
    return behind_.find_departure(target);
  }
  Result<Departure> depart(const Destination& to, const std::vector<SessionId>& sessions) override {
    return behind_.depart(to, sessions);
  }
  Result<Arrival> find_arrival(const std::string& source) override {
    return behind_.find_arrival(source);
  }
  Result<Arrival> arrive(const std::string& source, const Departure& departure) override {
    return behind_.arrive(source, departure);
  }
  Result<Passage> show(const std::vector<SessionId>& sessions) override {
    return behind_.show(sessions);
  }
  Result<FactSlice> read(const Passage& passage, const FactCursor& from) override {
    auto slice = behind_.read(passage, from);
    if (slice && left_out_) std::erase_if(slice->facts, left_out_);
    if (slice && read_) {
      for (Fact& fact : slice->facts) read_(fact);
    }
    return slice;
  }
  Result<void> take(const Passage& passage, const FactSlice& slice) override {
    FactSlice changed = slice;
    if (take_) {
      for (Fact& fact : changed.facts) take_(fact);
    }
    return behind_.take(passage, changed);
  }
  Result<void> end(const Passage& passage, MoveEnd how) override {
    return behind_.end(passage, how);
  }

  Transfer& behind_;
  Change read_;
  std::function<bool(const Fact&)> left_out_;
  Change take_;
};

}  // namespace perdure
