// Numbers are in network order; names end with a NUL.

#include "doubles/pg_wire.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace perdure::pg_wire {
namespace {

constexpr std::size_t length_bytes = 4;
constexpr std::uint32_t cancel_code = 80877102;
constexpr std::uint32_t ssl_code = 80877103;
constexpr std::uint32_t gss_code = 80877104;

std::uint32_t number_at(std::string_view bytes, std::size_t at) {
  std::uint32_t number = 0;
  for (const char byte : bytes.substr(at, length_bytes)) {
    number = number << 8U | static_cast<unsigned char>(byte);
  }
  return number;
}

// Takes a word and its NUL off the front.
std::string take_word(std::string_view& payload) {
  const std::size_t end = payload.find('\0');
  std::string word(payload.substr(0, end));
  payload.remove_prefix(end == std::string_view::npos ? payload.size() : end + 1);
  return word;
}

}  // namespace

std::string_view Message::payload() const {
  return std::string_view(bytes).substr(length_bytes + (type == 0 ? 0 : 1));
}

Opening opening_of(const Message& startup) {
  const std::uint32_t code = number_at(startup.payload(), 0);
  if (code == ssl_code || code == gss_code) return Opening::encryption;
  return code == cancel_code ? Opening::cancel : Opening::session;
}

std::int32_t backend_in(const Message& key_data) {
  return static_cast<std::int32_t>(number_at(key_data.payload(), 0));
}

std::string flush_message() { return {"H\0\0\0\4", 5}; }

std::optional<Message> Frames::take() { return take(1); }

std::optional<Message> Frames::take_startup() { return take(0); }

std::optional<Message> Frames::take(std::size_t type_bytes) {
  if (bytes_.size() < type_bytes + length_bytes) return std::nullopt;
  const std::size_t size = type_bytes + number_at(bytes_, type_bytes);
  if (bytes_.size() < size) return std::nullopt;
  Message message{.type = type_bytes == 0 ? '\0' : bytes_.front(), .bytes = bytes_.substr(0, size)};
  bytes_.erase(0, size);
  return message;
}

std::optional<std::string> Texts::hear(const Message& message) {
  std::string_view payload = message.payload();
  if (message.type == 'Q') return take_word(payload);
  if (message.type == 'E') return portals_[take_word(payload)];
  if (message.type == 'P') {
    std::string name = take_word(payload);
    statements_[std::move(name)] = take_word(payload);
  } else if (message.type == 'B') {
    std::string portal = take_word(payload);
    portals_[std::move(portal)] = statements_[take_word(payload)];
  }
  return std::nullopt;
}

}  // namespace perdure::pg_wire
