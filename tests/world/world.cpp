// The server as a child process, with the questions of a judge.

#include "world/world.hpp"

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "crash/child_process.hpp"
#include "perdure/core/json.hpp"
#include "world/wire.hpp"

namespace perdure {
namespace {

Json request_for(const char* what) { return Json::Object{{"request", what}}; }

}  // namespace

World::World(const std::string& folder)
    : socket_(folder + "/world.socket"), file_(folder + "/world.jsonl") {
  restart();
}

void World::restart() {
  server_ = std::make_unique<ChildProcess>("world_server", std::vector{socket_, file_});
  if (server_->read_line() != "ready") throw std::runtime_error("the world does not come up");
}

void World::kill() {
  server_->kill();
  server_->wait();
}

Ending World::quit() {
  must_answer(request_for("quit"));
  return server_->wait();
}

Json World::must_answer(const Json& request) const {
  const world::Reply reply = client().ask(request);
  if (const auto* answered = std::get_if<world::Answered>(&reply)) return answered->answer;
  if (const auto* denied = std::get_if<world::Denied>(&reply)) {
    throw std::runtime_error("the world refuses: " + denied->why);
  }
  throw std::runtime_error("the world is lost: " + std::get<world::Lost>(reply).why);
}

void World::plan(const world::Plan& plan) const {
  must_answer(Json::Object{{"request", "plan"},
                           {"fate", to_string(plan.fate)},
                           {"of", plan.of},
                           {"tool", plan.tool},
                           {"op", plan.op},
                           {"nth", plan.nth},
                           {"after", plan.after}});
}

void World::deliver() const { must_answer(request_for("deliver")); }
void World::release() const { must_answer(request_for("release")); }
void World::forget_keys() const { must_answer(request_for("forget_keys")); }

world::Tally World::count(const std::string& op) const {
  return world::tally_from(must_answer(Json::Object{{"request", "count"}, {"op", op}}));
}

std::vector<world::Tally> World::all() const {
  const Json answer = must_answer(request_for("all"));
  std::vector<world::Tally> tallies;
  const Json::Array* const array = answer.as_array();
  if (array == nullptr) throw std::runtime_error("the world answers " + answer.text());
  for (const Json& each : *array) tallies.push_back(world::tally_from(each));
  return tallies;
}

void World::await(const std::string& op, std::int64_t requests) const {
  must_answer(Json::Object{{"request", "await"}, {"op", op}, {"requests", requests}});
}

}  // namespace perdure
