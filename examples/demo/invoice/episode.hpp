// One payment, one email, two deaths: the agent's lives, a person's decision between them, and what
// the world and the store say at the end.

#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace invoice {

/// What a person is shown of a call in doubt.
struct Question {
  std::string call;
  std::string tool;
  std::string args;
  std::string why;
  std::string since;
  std::int64_t attempts = 0;
  std::string said;  ///< What the person decided.
};

struct Episode {
  int lives = 0;
  int deaths = 0;
  std::uint64_t requests = 0;  ///< How often the model was asked.
  std::uint64_t verified = 0;
  std::vector<Question> questions;
  std::uint64_t charges = 0;
  std::uint64_t emails = 0;
  std::int64_t spent_micros = 0;
  std::vector<std::string> troubles;  ///< What was not as expected; empty if all is well.

  [[nodiscard]] bool is_good() const { return troubles.empty(); }
};

/// Called while it happens.
struct Audience {
  std::function<void(int life, const std::string& what, const std::string& text)> hears;
  std::function<void(const Question& question)> sees;
};

/// `world`: a folder for the bank and the outbox.
[[nodiscard]] Episode run_episode(const std::string& store_path, const std::string& world,
                                  const Audience& audience);

}  // namespace invoice
