// The estimate of a request's tokens: what was counted last time, and a token for every two bytes
// that came since. English has about four bytes a token, Chinese and random letters about two.

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <fmt/format.h>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "core/api/guarded.hpp"
#include "core/api/json_text.hpp"
#include "models/dialect.hpp"
#include "models/http.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/time.hpp"

namespace perdure {

namespace {

constexpr std::size_t error_body_bytes_max = 65'536;

ErrorCode code_of(const HttpHead& head) {
  if (is_worth_repeating(head)) return ErrorCode::unavailable;
  return head.status == 404 ? ErrorCode::not_found : ErrorCode::invalid_argument;
}

// What its own words often leave open.
std::string advice_for(int status, const ApiKey& key) {
  if (status == 404) return ". Does it have a model of this name, and is base_url its address?";
  if (status != 401 && status != 403) return "";
  if (key.is_none()) return ". It was asked without a key: does it want one?";
  return key.source().empty() ? ". Is the key right?"
                              : fmt::format(". Is the key right? It is from {}", key.source());
}

std::string_view type_of(const HttpHead& head) {
  return head.find("content-type").value_or("nothing");
}

std::string packed_words(const HttpHead& head) {
  const auto packed = head.find("content-encoding");
  return packed ? fmt::format(" (packed by {}, which was not asked for)", *packed) : "";
}

bool is_stream(const HttpHead& head) { return type_of(head).starts_with("text/event-stream"); }

// One request and what came of it.
//
// Status 200 is the line: from there on a response has begun and is paid for, whatever follows. Two
// things are on this side of it all the same: an error in the place of a response, and what is
// neither a stream of events nor the one JSON object of a server that does not stream. That comes
// from another kind of server; a page costs nothing, anything else may be a response in a form that
// was not asked for.
class HttpAttempt final : public HttpReader {
 public:
  /// All outlive this.
  HttpAttempt(const Dialect& dialect, const ApiKey& key, ModelObserver& observer)
      : dialect_(dialect), key_(key), stream_(dialect.open(observer)) {}

  void on_head(HttpHead head) override { head_ = std::move(head); }

  [[nodiscard]] Result<void> on_bytes(std::string_view bytes) override {
    if (is_response()) return take(bytes);
    body_ += bytes.substr(0, error_body_bytes_max - body_.size());
    return {};
  }

  [[nodiscard]] bool has_all() const override {
    return is_response() && stream_->state().has_ended;
  }

  [[nodiscard]] const std::optional<HttpHead>& head() const { return head_; }
  /// What the exchange came to. Asked once.
  [[nodiscard]] ModelOutcome outcome(const HttpEnd& end) {
    if (form_ == Form::object) return whole_response(end);
    if (was_refused()) return in_its_words(end.why);
    if (is_response() && !is_stream(*head_) && !stream_->state().has_begun &&
        end.ending != HttpEnding::stopped) {
      return no_stream();
    }
    if (is_response()) return response(end);
    if (head_ && end.ending != HttpEnding::stopped) return refusal();
    return nothing(end);
  }

  /// Whether the same request may be sent again: it cost nothing, and another day it may succeed.
  [[nodiscard]] bool may_be_repeated(const HttpEnd& end) const {
    if (was_refused()) return form_ != Form::object;
    if (is_response() || end.ending == HttpEnding::stopped) return false;
    if (head_) return is_worth_repeating(*head_);
    return end.ending == HttpEnding::unreachable;
  }

 private:
  [[nodiscard]] bool is_response() const { return head_ && head_->status == 200; }
  /// What the body is shows with its first character, whatever the server calls it.
  enum class Form : std::uint8_t { unknown, events, object };

  [[nodiscard]] Result<void> take(std::string_view bytes) {
    const auto sink = [this](const SseEvent& event) { return stream_->take(event); };
    if (form_ == Form::events) return parser_.feed(bytes, sink);
    body_ += bytes;
    if (form_ == Form::object) return {};
    const auto first = body_.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
    if (first == std::string::npos) {
      body_.clear();
      return {};
    }
    form_ = body_[first] == '{' ? Form::object : Form::events;
    if (form_ == Form::events) return parser_.feed(std::exchange(body_, {}), sink);
    body_.erase(0, first);
    return {};
  }

  [[nodiscard]] ModelOutcome response(const HttpEnd& end) {
    // An error that the provider sends in the stream outweighs what came before it; a connection
    // that breaks when the answer is all there does not.
    const bool is_whole = stream_->state().has_ended ||
                          (stream_->state().is_whole && end.ending != HttpEnding::refused);
    const bool was_stopped = end.ending == HttpEnding::stopped;
    ModelResponse response = stream_->finish();
    response.request_id = request_id();
    if (is_whole) return response;
    response.message.is_partial = true;
    std::string why =
        end.ending == HttpEnding::whole ? "the response ended before its end" : end.why;
    why += packed_words(*head_);
    return CutOff{.so_far = std::move(response),
                  .error = {ErrorCode::unavailable, wire::shortened(key_.scrub(std::move(why))),
                            request_id()},
                  .was_stopped = was_stopped};
  }

  // What can be read is all there, however the connection ended. What cannot was cut off.
  [[nodiscard]] ModelOutcome whole_response(HttpEnd end) {
    std::string room;
    const std::string_view text = wire::as_text(body_, room);
    if (const auto json = parse_foreign_json(text)) {
      if (auto taken = stream_->take_whole(*json, text); !taken) {
        end = {.ending = HttpEnding::refused, .why = std::move(taken).error().message};
      }
      if (was_refused()) return in_its_words(end.why);
      if (!stream_->state().has_begun) return no_stream();
    } else if (end.ending == HttpEnding::whole) {
      end.why = "the response is one JSON object, and cannot be read: " + json.error().message;
      end.ending = HttpEnding::cut;
    }
    std::string().swap(room);
    std::string().swap(body_);  // What was read of it has as much again.
    return response(end);
  }

  /// An error came in the place of a response.
  [[nodiscard]] bool was_refused() const { return is_response() && stream_->state().was_refused; }

  // Sent as an event, it was sent instead of a response; what comes as a success may be an answer.
  [[nodiscard]] NotAnswered in_its_words(std::string_view words) const {
    return {.error = {ErrorCode::unavailable,
                      fmt::format("{} said: {}", dialect_.name(),
                                  wire::shortened(key_.scrub(std::string(words)))),
                      request_id()},
            .may_be_paid = form_ == Form::object,
            .status = head_->status};
  }

  [[nodiscard]] NotAnswered no_stream() const {
    const bool is_page = type_of(*head_).starts_with("text/html");
    std::string what = std::string(type_of(*head_)) + packed_words(*head_);
    if (form_ == Form::object) what = "JSON that is no response: " + key_.scrub(body_);
    return {.error = {ErrorCode::invalid_argument,
                      fmt::format("{}: the server sent no stream of events, but {}: is this the "
                                  "address of its API?",
                                  dialect_.name(), wire::shortened(what)),
                      request_id()},
            .may_be_paid = !is_page,
            .status = head_->status};
  }

  [[nodiscard]] NotAnswered refusal() const {
    std::string message(dialect_.name());
    message += " said " + std::to_string(head_->status);
    if (const std::string words = wire::error_words(body_); !words.empty()) {
      message += ": " + words;
    }
    message = wire::shortened(key_.scrub(std::move(message))) + advice_for(head_->status, key_);
    return {.error = {code_of(*head_), std::move(message), request_id()}, .status = head_->status};
  }

  [[nodiscard]] NotAnswered nothing(const HttpEnd& end) const {
    const bool is_hopeless = end.ending == HttpEnding::impossible;
    const ErrorCode code = is_hopeless ? ErrorCode::invalid_argument : ErrorCode::unavailable;
    const std::string why = end.why.empty() ? "the server ended before it answered" : end.why;
    return {.error = {code, std::string(dialect_.name()) + ": " + key_.scrub(why), ""},
            .may_be_paid = end.was_sent && !head_,
            .was_stopped = end.ending == HttpEnding::stopped};
  }

  [[nodiscard]] std::string request_id() const {
    if (!head_) return {};
    for (const std::string_view name : {"request-id", "x-request-id"}) {
      if (const auto id = head_->find(name)) return key_.scrub(std::string(*id));
    }
    return {};
  }

  const Dialect& dialect_;
  const ApiKey& key_;
  std::unique_ptr<ResponseStream> stream_;
  SseParser parser_;
  std::optional<HttpHead> head_;
  Form form_ = Form::unknown;
  std::string
      body_;  // Of an error its beginning, of one object all; of events what comes before them.
};

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

// For the reader: libcurl has named the host.
NotAnswered given_up(NotAnswered last, const HttpEnd& end) {
  if (end.ending == HttpEnding::unreachable) {
    last.error.message +=
        fmt::format("; tried {}. Is the network up, does the server run, is base_url its address?",
                    last.attempts == 1 ? "once" : fmt::format("{} times", last.attempts));
  }
  return last;
}

// A provider over HTTP: a dialect, a body that grows, and attempts until one is answered.
class HttpProvider final : public Provider {
 public:
  HttpProvider(std::unique_ptr<const Dialect> dialect, HttpProviderOptions options, std::string url,
               const ModelServices& services)
      : sources_(&services.clock, &services.ids),
        dialect_(std::move(dialect)),
        options_(std::move(options)),
        url_(std::move(url)),
        wait_(services.wait ? services.wait : wait_on_this_machine) {}

  [[nodiscard]] Result<PreparedRequest> prepare(const ModelRequest& request) override {
    if (request.kept == 0) counted_ = request.counted;
    if (auto updated = body_.update(request); !updated) return forward(updated);
    const auto bytes = static_cast<std::int64_t>(body_.bytes());
    const std::int64_t fresh = std::max<std::int64_t>(0, bytes - counted_.bytes);
    prepared_ = {.digest = body_.digest(),
                 .bytes = body_.bytes(),
                 .tokens_in = counted_.tokens + fresh / bytes_per_token,
                 .tokens_out = dialect_->tokens_out_max(request.setup)};
    return prepared_;
  }

  [[nodiscard]] ModelOutcome send(ModelObserver& observer, std::stop_token stop) override {
    if (body_.is_empty()) {
      return NotAnswered{
          .error = {ErrorCode::invalid_argument, "nothing was prepared to be sent", ""},
          .attempts = 0};
    }
    auto quiet = quiet_observer(observer);
    if (auto stopped = wait_after_cut_off(quiet, stop)) return *std::move(stopped);
    ModelOutcome outcome = attempts(quiet, stop);
    remember(outcome);
    return outcome;
  }

 private:
  [[nodiscard]] HttpRequest request() const {
    HttpRequest request{.url = url_,
                        .headers = dialect_->headers(),
                        .body = body_.parts(),
                        .timeouts = options_.timeouts,
                        .response_bytes_max = options_.response_bytes_max,
                        .ca_file = options_.ca_file};
    request.headers.emplace_back("Content-Type", "application/json");
    request.headers.emplace_back("Accept", "text/event-stream");
    request.headers.emplace_back("User-Agent", "perdure");
    return request;
  }

  [[nodiscard]] ModelOutcome attempts(ModelObserver& observer, const std::stop_token& stop) {
    const HttpRequest request = this->request();
    const Clock& clock = sources_.clock;
    const Uptime first = clock.uptime();
    for (int number = 1;; ++number) {
      HttpAttempt attempt(*dialect_, options_.key, observer);
      const HttpEnd end = transport_.post(request, attempt, stop);
      ModelOutcome outcome = attempt.outcome(end);
      auto* const failed = std::get_if<NotAnswered>(&outcome);
      if (failed == nullptr) return outcome;
      failed->attempts = number;
      if (!attempt.may_be_repeated(end)) return outcome;
      FailedAttempt facts{.number = number, .since_first = clock.uptime() - first};
      if (attempt.head()) facts.wanted = wanted_wait(*attempt.head(), clock.now());
      const auto time = wait_before_next(options_.retry, facts, chance_from(sources_.ids));
      if (!time) return given_up(std::move(*failed), end);
      observer.on_retry({.attempt = number, .wait = *time, .why = failed->error.message});
      const auto waited = wait(*time, stop);
      if (!waited || !*waited) return ended_while_waiting(std::move(*failed), waited);
    }
  }

  /// Set: it was stopped meanwhile.
  // A server that breaks off is given time, as one that refuses is.
  [[nodiscard]] std::optional<NotAnswered> wait_after_cut_off(ModelObserver& observer,
                                                              const std::stop_token& stop) {
    if (cut_offs_ == 0) return std::nullopt;
    const auto planned =
        wait_before_next(options_.retry, {.number = cut_offs_}, chance_from(sources_.ids));
    const Duration time = planned.value_or(Duration(0)) - (sources_.clock.uptime() - cut_off_at_);
    if (time <= Duration(0)) return std::nullopt;
    observer.on_retry({.attempt = cut_offs_, .wait = time, .why = "the response was cut off"});
    const auto waited = wait(time, stop);
    if (waited && *waited) return std::nullopt;
    const Error stopped{ErrorCode::unavailable, "stopped", ""};
    return NotAnswered{.error = waited ? stopped : waited.error(),
                       .was_stopped = waited.has_value(),
                       .attempts = 0};
  }

  /// False: it was stopped meanwhile. Fails: `unavailable` if the user's `wait` throws.
  [[nodiscard]] Result<bool> wait(Duration time, const std::stop_token& stop) {
    return guarded("the model services' `wait`", [&] { return wait_(time, stop); });
  }

  void remember(const ModelOutcome& outcome) {
    if (const auto* const cut = std::get_if<CutOff>(&outcome);
        cut != nullptr && !cut->was_stopped) {
      ++cut_offs_;
      cut_off_at_ = sources_.clock.uptime();
    } else {
      cut_offs_ = 0;
    }
    const auto* const response = std::get_if<ModelResponse>(&outcome);
    if (response == nullptr || !response->usage.is_known || response->usage.tokens_in == 0) return;
    counted_ = {.tokens = response->usage.tokens_in,
                .bytes = static_cast<std::int64_t>(prepared_.bytes)};
  }

  // libcurl calls what asks the clock, and nothing may be thrown through it.
  GuardedSources sources_;
  const std::unique_ptr<const Dialect> dialect_;
  const HttpProviderOptions options_;
  const std::string url_;
  const std::function<bool(Duration, const std::stop_token&)> wait_;
  CurlTransport transport_{sources_.clock};
  RequestBody body_{*dialect_};
  PreparedRequest prepared_;
  CountedBody counted_;  // Last.
  int cut_offs_ = 0;     // One after the other, the last of them then.
  Uptime cut_off_at_{0};
};

Result<std::unique_ptr<Provider>> make_http(std::unique_ptr<const Dialect> dialect,
                                            HttpProviderOptions options, const std::string& path,
                                            const ModelServices& services) {
  auto url = request_url(options.base_url, path, !options.key.is_none());
  if (!url) return forward(url);
  return std::make_unique<HttpProvider>(std::move(dialect), std::move(options), *std::move(url),
                                        services);
}

}  // namespace

Result<std::unique_ptr<Provider>> make_anthropic(AnthropicOptions options,
                                                 const ModelServices& services) {
  if (options.http.base_url.empty()) options.http.base_url = "https://api.anthropic.com";
  return make_http(anthropic_dialect(options), options.http, "/v1/messages", services);
}

Result<std::unique_ptr<Provider>> make_chat_completions(ChatOptions options,
                                                        const ModelServices& services) {
  if (options.http.base_url.empty()) options.http.base_url = "https://api.openai.com/v1";
  return make_http(chat_dialect(options), options.http, "/chat/completions", services);
}

}  // namespace perdure
