// The pace is the server's: nobody here sleeps.

#include "doubles/postgres_wait.hpp"

#include <stdexcept>
#include <string>

#include "doubles/postgres_cluster.hpp"

namespace perdure {

void wait_for_answer(const std::string& address, const std::string& question,
                     const std::string& answer) {
  PostgresSql server(address);
  constexpr int questions_max = 30'000;
  for (int asked = 0; asked < questions_max; ++asked) {
    if (server.one(question) == answer) return;
    (void)server.one("SELECT pg_sleep(0.01)");
  }
  throw std::runtime_error("the answer is never " + answer + ": " + question);
}

}  // namespace perdure
