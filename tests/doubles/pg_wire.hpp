// The framing of PostgreSQL's frontend/backend protocol, version 3: as much of it as somebody
// needs who listens in the middle. https://www.postgresql.org/docs/15/protocol.html

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace perdure::pg_wire {

/// One message as it is on the wire.
struct Message {
  char type = 0;  ///< 0: a startup message, which has none.
  std::string bytes{};

  [[nodiscard]] std::string_view payload() const;
};

/// What a startup message asks for.
enum class Opening : std::uint8_t { session, encryption, cancel };

[[nodiscard]] Opening opening_of(const Message& startup);
/// The process of the server that serves the connection, told in `BackendKeyData`.
[[nodiscard]] std::int32_t backend_in(const Message& key_data);
/// Asks the server for the replies it holds back.
[[nodiscard]] std::string flush_message();

/// Cuts a stream of bytes into messages.
class Frames {
 public:
  void add(std::string_view bytes) { bytes_ += bytes; }
  /// The next whole message; empty: more bytes are needed.
  [[nodiscard]] std::optional<Message> take();
  /// The same, for a client's first words.
  [[nodiscard]] std::optional<Message> take_startup();

 private:
  [[nodiscard]] std::optional<Message> take(std::size_t type_bytes);

  std::string bytes_;
};

/// What a client's statements are called, and which text each `Execute` runs.
class Texts {
 public:
  /// To be told of every message in order; the text that it runs, if it runs one.
  [[nodiscard]] std::optional<std::string> hear(const Message& message);

 private:
  std::map<std::string, std::string, std::less<>> statements_;
  std::map<std::string, std::string, std::less<>> portals_;
};

}  // namespace perdure::pg_wire
