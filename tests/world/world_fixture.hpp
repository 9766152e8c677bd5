// A world for one test, in a folder of its own, and short ways to speak to it.

#pragma once

#include <gtest/gtest.h>
#include <string>
#include <variant>
#include <vector>

#include "doubles/temp_folder.hpp"
#include "perdure/core/json.hpp"
#include "world/client.hpp"
#include "world/wire.hpp"
#include "world/world.hpp"

namespace perdure::world {

class WorldTest : public testing::Test {
 protected:
  [[nodiscard]] Reply pay(const std::string& op, const std::string& key = "",
                          bool honours_key = false) const {
    return client.effect({.op = op,
                          .key = key,
                          .tool = "pay",
                          .args = Json::Object{{"op", op}},
                          .honours_key = honours_key});
  }
  [[nodiscard]] std::size_t effects(const std::string& op) const {
    return world.count(op).effects.size();
  }
  [[nodiscard]] std::size_t requests(const std::string& op) const {
    return world.count(op).requests.size();
  }
  [[nodiscard]] bool has_landed(const std::string& op) const {
    return flag_of(std::get<Answered>(client.verify_op(op)).answer, "landed");
  }

  TempFolder folder = TempFolder::in_memory();
  World world{folder.path().string()};
  WorldClient client = world.client();
};

[[nodiscard]] inline std::string text_of(const Reply& reply) {
  if (const auto* denied = std::get_if<Denied>(&reply)) return "denied: " + denied->why;
  if (const auto* lost = std::get_if<Lost>(&reply)) return "lost: " + lost->why;
  return std::get<Answered>(reply).answer.text();
}
[[nodiscard]] inline bool is_lost(const Reply& reply) {
  return std::holds_alternative<Lost>(reply);
}
[[nodiscard]] inline bool is_denied(const Reply& reply) {
  return std::holds_alternative<Denied>(reply);
}

}  // namespace perdure::world
