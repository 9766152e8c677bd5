// A provider over HTTP: a dialect, a body that grows, and attempts until one is answered.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "core/api/guarded.hpp"
#include "models/body.hpp"
#include "models/dialect.hpp"
#include "models/http.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/time.hpp"

namespace perdure {

class HttpProvider final : public Provider {
 public:
  struct Parts {
    std::unique_ptr<GuardedSources> sources;  ///< Before what uses them.
    std::unique_ptr<const Dialect> dialect;
    std::unique_ptr<HttpTransport> transport;
    std::string url;
    HttpProviderOptions options;
  };

  /// `wait`: as ModelServices::wait; not empty.
  HttpProvider(Parts parts, std::function<bool(Duration, const std::stop_token&)> wait);

  [[nodiscard]] Result<PreparedRequest> prepare(const ModelRequest& request) override;
  [[nodiscard]] ModelOutcome send(ModelObserver& observer, std::stop_token stop) override;

  /// For tests that count.
  [[nodiscard]] const RequestBody& body() const { return body_; }

 private:
  [[nodiscard]] HttpRequest request() const;
  [[nodiscard]] ModelOutcome attempts(ModelObserver& observer, const std::stop_token& stop);
  /// Set: it was stopped meanwhile.
  [[nodiscard]] std::optional<NotAnswered> wait_after_cut_off(ModelObserver& observer,
                                                              const std::stop_token& stop);
  /// False: it was stopped meanwhile. Fails: `unavailable` if the user's `wait` throws.
  [[nodiscard]] Result<bool> wait(Duration time, const std::stop_token& stop);
  void remember(const ModelOutcome& outcome);

  Parts parts_;
  std::function<bool(Duration, const std::stop_token&)> wait_;
  RequestBody body_;
  PreparedRequest prepared_;
  CountedBody counted_;  // Last.
  int cut_offs_ = 0;     // One after the other, the last of them then.
  Uptime cut_off_at_{0};
};

}  // namespace perdure
