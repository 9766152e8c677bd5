// Status 200 is the line: from there on a response has begun and is paid for, whatever follows. Two
// things are on this side of it all the same: an error in the place of a response's first event, and
// what is no stream of events. That one comes from another kind of server; a page costs nothing,
// anything else may be a response in a form that was not asked for.

#include "models/attempt.hpp"

#include <cstddef>
#include <fmt/format.h>
#include <string>
#include <string_view>
#include <utility>

#include "models/http.hpp"
#include "models/retry.hpp"
#include "models/sse.hpp"
#include "models/wire.hpp"
#include "perdure/agent/api_key.hpp"
#include "perdure/agent/provider.hpp"
#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"

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

// Some servers call an error a success.
std::string json_error(const std::string& body) {
  const auto json = parse_json(body);
  if (!json || !json->is_object() || json->find("error") == nullptr) return {};
  return wire::error_words(body);
}

bool is_stream(const HttpHead& head) { return type_of(head).starts_with("text/event-stream"); }

}  // namespace

Result<void> Attempt::on_bytes(std::string_view bytes) {
  const bool may_be_error = !is_response() || !is_stream(*head_);
  if (may_be_error && error_body_.size() < error_body_bytes_max) {
    error_body_ += bytes.substr(0, error_body_bytes_max - error_body_.size());
  }
  if (!is_response()) return {};
  return parser_.feed(bytes, [this](const SseEvent& event) { return stream_->take(event); });
}

ModelOutcome Attempt::outcome(const HttpEnd& end) {
  if (was_refused()) return in_its_words(end);
  if (is_response() && !is_stream(*head_) && !stream_->has_begun() &&
      end.ending != HttpEnding::stopped) {
    return no_stream();
  }
  if (is_response()) return response(end);
  if (head_ && end.ending != HttpEnding::stopped) return refusal();
  return nothing(end);
}

ModelOutcome Attempt::response(const HttpEnd& end) {
  // An error that the provider sends in the stream outweighs what came before it; a connection that
  // breaks when the answer is all there does not.
  const bool is_whole =
      stream_->has_ended() || (stream_->is_whole() && end.ending != HttpEnding::refused);
  const bool was_stopped = end.ending == HttpEnding::stopped;
  ModelResponse response = stream_->finish();
  response.request_id = request_id();
  if (is_whole) return response;
  response.message.is_partial = true;
  std::string why = end.ending == HttpEnding::whole ? "the response ended before its end" : end.why;
  return CutOff{
      .so_far = std::move(response),
      .error = {ErrorCode::unavailable, wire::shortened(key_.scrub(std::move(why))), request_id()},
      .was_stopped = was_stopped};
}

NotAnswered Attempt::refusal() const {
  std::string message(dialect_.name());
  message += " said " + std::to_string(head_->status);
  if (const std::string words = wire::error_words(error_body_); !words.empty()) {
    message += ": " + words;
  }
  message = wire::shortened(key_.scrub(std::move(message))) + advice_for(head_->status, key_);
  return {.error = {code_of(*head_), std::move(message), request_id()}, .status = head_->status};
}

NotAnswered Attempt::in_its_words(const HttpEnd& end) const {
  return {.error = {ErrorCode::unavailable,
                    std::string(dialect_.name()) + " said: " + wire::shortened(key_.scrub(end.why)),
                    request_id()},
          .status = head_->status};
}

NotAnswered Attempt::no_stream() const {
  if (const std::string words = json_error(error_body_); !words.empty()) {
    return {
        .error = {ErrorCode::unavailable,
                  fmt::format("{} said: {}", dialect_.name(), wire::shortened(key_.scrub(words))),
                  request_id()},
        .may_be_paid = true,
        .status = head_->status};
  }
  const bool is_page = type_of(*head_).starts_with("text/html");
  return {.error = {ErrorCode::invalid_argument,
                    fmt::format("{}: the server sent no stream of events, but {}: is this the "
                                "address of its API?",
                                dialect_.name(), type_of(*head_)),
                    request_id()},
          .may_be_paid = !is_page,
          .status = head_->status};
}

NotAnswered Attempt::nothing(const HttpEnd& end) const {
  const bool is_hopeless = end.ending == HttpEnding::impossible;
  const ErrorCode code = is_hopeless ? ErrorCode::invalid_argument : ErrorCode::unavailable;
  const std::string why = end.why.empty() ? "the server ended before it answered" : end.why;
  return {.error = {code, std::string(dialect_.name()) + ": " + key_.scrub(why), ""},
          .may_be_paid = end.was_sent && !head_,
          .was_stopped = end.ending == HttpEnding::stopped};
}

bool Attempt::may_be_repeated(const HttpEnd& end) const {
  if (was_refused()) return true;
  if (is_response() || end.ending == HttpEnding::stopped) return false;
  if (head_) return is_worth_repeating(*head_);
  return end.ending == HttpEnding::unreachable;
}

std::string Attempt::request_id() const {
  if (!head_) return {};
  for (const std::string_view name : {"request-id", "x-request-id"}) {
    if (const auto id = head_->find(name)) return key_.scrub(std::string(*id));
  }
  return {};
}

}  // namespace perdure
