// The estimate of a request's tokens: what was counted last time, and a token for every two bytes that
// came since. English has about four bytes a token, Chinese and random letters about two.

#include "models/http_provider.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <fmt/format.h>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <variant>

#include "models/anthropic.hpp"
#include "models/attempt.hpp"
#include "models/chat.hpp"
#include "models/curl_transport.hpp"
#include "models/dialect.hpp"
#include "models/http.hpp"
#include "models/quiet_observer.hpp"
#include "models/retry.hpp"
#include "models/url.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/agent/providers.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/guarded.hpp"
#include "perdure/core/time.hpp"

namespace perdure {
namespace {

constexpr std::int64_t bytes_per_token = 2;

bool wait_on_this_machine(Duration wait, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  static_cast<void>(never.wait_for(lock, stop, wait, [] { return false; }));
  return !stop.stop_requested();
}

// The request that failed cost nothing, or it would not be repeated.
NotAnswered ended_while_waiting(NotAnswered last, const Result<bool>& waited) {
  last.was_stopped = waited.has_value();
  if (!waited) last.error.message += "; " + waited.error().message;
  return last;
}

// For whoever reads it: libcurl has named the host.
NotAnswered given_up(NotAnswered last, const HttpEnd& end) {
  if (end.ending == HttpEnding::unreachable) {
    last.error.message +=
        fmt::format("; tried {}. Is the network up, does the server run, is base_url its address?",
                    last.attempts == 1 ? "once" : fmt::format("{} times", last.attempts));
  }
  return last;
}

Result<std::unique_ptr<Provider>> make_http(std::unique_ptr<const Dialect> dialect,
                                            HttpProviderOptions options, const std::string& path,
                                            const ModelServices& services) {
  auto url = request_url(options.base_url, path, !options.key.is_none());
  if (!url) return forward(url);
  // libcurl calls what asks the clock, and nothing may be thrown through it.
  auto sources = std::make_unique<GuardedSources>(&services.clock, &services.ids);
  auto transport = std::make_unique<CurlTransport>(sources->clock);
  return std::make_unique<HttpProvider>(HttpProvider::Parts{.sources = std::move(sources),
                                                            .dialect = std::move(dialect),
                                                            .transport = std::move(transport),
                                                            .url = *std::move(url),
                                                            .options = std::move(options)},
                                        services.wait ? services.wait : wait_on_this_machine);
}

}  // namespace

HttpProvider::HttpProvider(Parts parts, std::function<bool(Duration, const std::stop_token&)> wait)
    : parts_(std::move(parts)), wait_(std::move(wait)), body_(*parts_.dialect) {}

Result<PreparedRequest> HttpProvider::prepare(const ModelRequest& request) {
  if (request.kept == 0) counted_ = request.counted;
  if (auto updated = body_.update(request); !updated) return forward(updated);
  const auto bytes = static_cast<std::int64_t>(body_.bytes());
  const std::int64_t fresh = std::max<std::int64_t>(0, bytes - counted_.bytes);
  prepared_ = {.digest = body_.digest(),
               .bytes = body_.bytes(),
               .tokens_in = counted_.tokens + fresh / bytes_per_token,
               .tokens_out = parts_.dialect->tokens_out_max(request.setup)};
  return prepared_;
}

HttpRequest HttpProvider::request() const {
  HttpRequest request{.url = parts_.url,
                      .headers = parts_.dialect->headers(),
                      .body = body_.parts(),
                      .timeouts = parts_.options.timeouts,
                      .response_bytes_max = parts_.options.response_bytes_max,
                      .ca_file = parts_.options.ca_file};
  request.headers.emplace_back("Content-Type", "application/json");
  request.headers.emplace_back("Accept", "text/event-stream");
  request.headers.emplace_back("User-Agent", "perdure");
  return request;
}

ModelOutcome HttpProvider::send(ModelObserver& observer, std::stop_token stop) {
  if (body_.is_empty()) {
    return NotAnswered{
        .error = {ErrorCode::invalid_argument, "nothing was prepared to be sent", ""},
        .attempts = 0};
  }
  QuietObserver quiet(observer);
  if (auto stopped = wait_after_cut_off(quiet, stop)) return *std::move(stopped);
  ModelOutcome outcome = attempts(quiet, stop);
  remember(outcome);
  return outcome;
}

// A server that breaks off is given time, as one that refuses is.
std::optional<NotAnswered> HttpProvider::wait_after_cut_off(ModelObserver& observer,
                                                            const std::stop_token& stop) {
  if (cut_offs_ == 0) return std::nullopt;
  const auto planned = wait_before_next(parts_.options.retry, {.number = cut_offs_},
                                        chance_from(parts_.sources->ids));
  const Duration time =
      planned.value_or(Duration(0)) - (parts_.sources->clock.uptime() - cut_off_at_);
  if (time <= Duration(0)) return std::nullopt;
  observer.on_retry({.attempt = cut_offs_, .wait = time, .why = "the response was cut off"});
  const auto waited = wait(time, stop);
  if (waited && *waited) return std::nullopt;
  const Error stopped{ErrorCode::unavailable, "stopped", ""};
  return NotAnswered{
      .error = waited ? stopped : waited.error(), .was_stopped = waited.has_value(), .attempts = 0};
}

Result<bool> HttpProvider::wait(Duration time, const std::stop_token& stop) {
  return guarded("the model services' `wait`", [&] { return wait_(time, stop); });
}

ModelOutcome HttpProvider::attempts(ModelObserver& observer, const std::stop_token& stop) {
  const HttpRequest request = this->request();
  const Clock& clock = parts_.sources->clock;
  const Uptime first = clock.uptime();
  for (int number = 1;; ++number) {
    Attempt attempt(*parts_.dialect, parts_.options.key, observer);
    const HttpEnd end = parts_.transport->post(request, attempt, stop);
    ModelOutcome outcome = attempt.outcome(end);
    auto* const failed = std::get_if<NotAnswered>(&outcome);
    if (failed == nullptr) return outcome;
    failed->attempts = number;
    if (!attempt.may_be_repeated(end)) return outcome;
    FailedAttempt facts{.number = number, .since_first = clock.uptime() - first};
    if (attempt.head()) facts.wanted = wanted_wait(*attempt.head(), clock.now());
    const auto time =
        wait_before_next(parts_.options.retry, facts, chance_from(parts_.sources->ids));
    if (!time) return given_up(std::move(*failed), end);
    observer.on_retry({.attempt = number, .wait = *time, .why = failed->error.message});
    const auto waited = wait(*time, stop);
    if (!waited || !*waited) return ended_while_waiting(std::move(*failed), waited);
  }
}

void HttpProvider::remember(const ModelOutcome& outcome) {
  if (const auto* const cut = std::get_if<CutOff>(&outcome); cut != nullptr && !cut->was_stopped) {
    ++cut_offs_;
    cut_off_at_ = parts_.sources->clock.uptime();
  } else {
    cut_offs_ = 0;
  }
  const auto* const response = std::get_if<ModelResponse>(&outcome);
  if (response == nullptr || !response->usage.is_known || response->usage.tokens_in == 0) return;
  counted_ = {.tokens = response->usage.tokens_in,
              .bytes = static_cast<std::int64_t>(prepared_.bytes)};
}

Result<std::unique_ptr<Provider>> make_anthropic(AnthropicOptions options,
                                                 const ModelServices& services) {
  if (options.http.base_url.empty()) options.http.base_url = "https://api.anthropic.com";
  HttpProviderOptions http = options.http;
  return make_http(std::make_unique<AnthropicDialect>(std::move(options)), std::move(http),
                   "/v1/messages", services);
}

Result<std::unique_ptr<Provider>> make_chat_completions(ChatOptions options,
                                                        const ModelServices& services) {
  if (options.http.base_url.empty()) options.http.base_url = "https://api.openai.com/v1";
  HttpProviderOptions http = options.http;
  return make_http(std::make_unique<ChatDialect>(std::move(options)), std::move(http),
                   "/chat/completions", services);
}

}  // namespace perdure
