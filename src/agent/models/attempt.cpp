// Status 200 is the line: from there on a response has begun and is paid for, whatever follows. Two
// things are on this side of it all the same: an error in the place of a response, and what is neither
// a stream of events nor the one JSON object of a server that does not stream. That comes from another
// kind of server; a page costs nothing, anything else may be a response in a form that was not asked
// for.

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
#include "perdure/core/json_text.hpp"

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

}  // namespace

Result<void> Attempt::on_bytes(std::string_view bytes) {
  if (is_response()) return take(bytes);
  body_ += bytes.substr(0, error_body_bytes_max - body_.size());
  return {};
}

Result<void> Attempt::take(std::string_view bytes) {
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

ModelOutcome Attempt::outcome(const HttpEnd& end) {
  if (form_ == Form::object) return whole_response(end);
  if (was_refused()) return in_its_words(end.why);
  if (is_response() && !is_stream(*head_) && !stream_->has_begun() &&
      end.ending != HttpEnding::stopped) {
    return no_stream();
  }
  if (is_response()) return response(end);
  if (head_ && end.ending != HttpEnding::stopped) return refusal();
  return nothing(end);
}

// What can be read is all there, however the connection ended. What cannot was cut off.
ModelOutcome Attempt::whole_response(HttpEnd end) {
  std::string room;
  const std::string_view text = wire::as_text(body_, room);
  if (const auto json = parse_foreign_json(text)) {
    if (auto taken = stream_->take_whole(*json, text); !taken) {
      end = {.ending = HttpEnding::refused, .why = std::move(taken).error().message};
    }
    if (was_refused()) return in_its_words(end.why);
    if (!stream_->has_begun()) return no_stream();
  } else if (end.ending == HttpEnding::whole) {
    end.why = "the response is one JSON object, and cannot be read: " + json.error().message;
    end.ending = HttpEnding::cut;
  }
  std::string().swap(room);
  std::string().swap(body_);  // What was read of it has as much again.
  return response(end);
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
  why += packed_words(*head_);
  return CutOff{
      .so_far = std::move(response),
      .error = {ErrorCode::unavailable, wire::shortened(key_.scrub(std::move(why))), request_id()},
      .was_stopped = was_stopped};
}

NotAnswered Attempt::refusal() const {
  std::string message(dialect_.name());
  message += " said " + std::to_string(head_->status);
  if (const std::string words = wire::error_words(body_); !words.empty()) {
    message += ": " + words;
  }
  message = wire::shortened(key_.scrub(std::move(message))) + advice_for(head_->status, key_);
  return {.error = {code_of(*head_), std::move(message), request_id()}, .status = head_->status};
}

// Sent as an event, it was sent instead of a response; what comes as a success may be an answer.
NotAnswered Attempt::in_its_words(std::string_view words) const {
  return {.error = {ErrorCode::unavailable,
                    fmt::format("{} said: {}", dialect_.name(),
                                wire::shortened(key_.scrub(std::string(words)))),
                    request_id()},
          .may_be_paid = form_ == Form::object,
          .status = head_->status};
}

NotAnswered Attempt::no_stream() const {
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

NotAnswered Attempt::nothing(const HttpEnd& end) const {
  const bool is_hopeless = end.ending == HttpEnding::impossible;
  const ErrorCode code = is_hopeless ? ErrorCode::invalid_argument : ErrorCode::unavailable;
  const std::string why = end.why.empty() ? "the server ended before it answered" : end.why;
  return {.error = {code, std::string(dialect_.name()) + ": " + key_.scrub(why), ""},
          .may_be_paid = end.was_sent && !head_,
          .was_stopped = end.ending == HttpEnding::stopped};
}

bool Attempt::may_be_repeated(const HttpEnd& end) const {
  if (was_refused()) return form_ != Form::object;
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
