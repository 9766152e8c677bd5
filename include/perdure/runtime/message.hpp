// A message of a conversation, and how it is written down.
//
// Its JSON is `{"id", "role", "created_at", "blocks": [{"kind", …}]}`. A reader keeps
// what it does not know: members of a message or a block it has no name for, and blocks
// of a kind it has no type for, come back when the message is written again. What a
// model wrote or signed (arguments, reasoning metadata) is kept byte for byte.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "perdure/core/error.hpp"
#include "perdure/core/json.hpp"
#include "perdure/core/raw_json.hpp"
#include "perdure/core/time.hpp"

namespace perdure {

/// Results of tools ride on role `user`.
enum class Role : std::uint8_t { user, assistant, system };

[[nodiscard]] std::string_view to_string(Role role);
[[nodiscard]] std::optional<Role> role_from(std::string_view text);

/// Members that a value was read with and has no field for, in their order.
using Unknown = std::vector<std::pair<std::string, RawJson>>;

struct TextBlock {
  std::string text{};
  Unknown unknown{};
  bool operator==(const TextBlock&) const = default;
};

/// What a model thought. `metadata` holds what its vendor must get back unchanged.
struct ReasoningBlock {
  std::string text{};
  RawJson metadata = RawJson::from_value(Json::Object{});
  Unknown unknown{};
  bool operator==(const ReasoningBlock&) const = default;
};

struct ToolCallBlock {
  std::string id{};  ///< The provider's; never identity.
  std::string name{};
  /// As the model wrote them; text that is no JSON is kept too: it was paid for.
  std::string args = "{}";
  Unknown unknown{};
  bool operator==(const ToolCallBlock&) const = default;
};

struct ToolResultBlock {
  std::string call_id{};
  std::string content{};  ///< Any bytes.
  bool is_error = false;
  Unknown unknown{};
  bool operator==(const ToolResultBlock&) const = default;
};

/// A block of a kind this version does not know.
struct OtherBlock {
  RawJson json{};
  bool operator==(const OtherBlock&) const = default;
};

using Block = std::variant<TextBlock, ReasoningBlock, ToolCallBlock, ToolResultBlock, OtherBlock>;

struct Message {
  std::string id{};
  Role role = Role::user;
  Timestamp created_at{};
  std::vector<Block> blocks{};
  /// Cut off before its end: shown, and never sent back as if it were whole.
  bool is_partial = false;
  Unknown unknown{};

  bool operator==(const Message&) const = default;
};

/// A message of one text block, without id and time: the session that appends it gives both.
[[nodiscard]] Message user_says(std::string text);
[[nodiscard]] Message assistant_says(std::string text);

/// The arguments of a call as a model wrote them. Nothing at all is an empty object: some models
/// send that.
/// Fails: as parse_json.
[[nodiscard]] Result<Json> parse_args(std::string_view args);

/// All text blocks, one after the other.
[[nodiscard]] std::string text_of(const Message& message);

[[nodiscard]] std::string to_json(const Message& message);

/// Fails: `invalid_argument` for text that is no message; `unsupported` for one of a
/// newer version of this format.
[[nodiscard]] Result<Message> message_from_json(std::string_view text);

}  // namespace perdure
